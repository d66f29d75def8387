//! `core.netdev_budget`: packets worked off in one softirq round.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.netdev_budget",
    title: "packets worked off in one softirq round",
    site: Site::Sysctl("net/core/netdev_budget"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing unless rounds end early.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["300", "600"],
    effect: Effect::Words("The third column (time_squeeze) of /proc/net/softnet_stat grows more slowly."),
    restore: Restore::WriteBack,
    risk: "Longer rounds delay everything else on the CPU.",
    applies: |at| at.only_if_squeezed(),
};
