//! `core.dev_weight`: packets that one poll of the backlog takes.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.dev_weight",
    title: "packets that one poll of the backlog takes",
    site: Site::Sysctl("net/core/dev_weight"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing unless rounds end early.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["64", "128"],
    effect: Effect::Words("The third column (time_squeeze) of /proc/net/softnet_stat."),
    restore: Restore::WriteBack,
    risk: "Less fairness between devices.",
    applies: |at| at.only_if_squeezed(),
};
