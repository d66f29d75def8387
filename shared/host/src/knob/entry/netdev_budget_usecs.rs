//! `core.netdev_budget_usecs`: time of one softirq round.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.netdev_budget_usecs",
    title: "time of one softirq round",
    site: Site::Sysctl("net/core/netdev_budget_usecs"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing unless rounds end early.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["2000", "8000"],
    effect: Effect::Words("The third column (time_squeeze) of /proc/net/softnet_stat grows more slowly."),
    restore: Restore::WriteBack,
    risk: "Longer rounds delay everything else on the CPU.",
    applies: |at| at.only_if_squeezed(),
};
