//! `core.netdev_max_backlog`: packets that wait for a CPU.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.netdev_max_backlog",
    title: "packets that wait for a CPU",
    site: Site::Sysctl("net/core/netdev_max_backlog"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing but drops: it is the length of the queue that loopback and RPS use.",
    nic: "The same, with RPS or without NAPI.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["1000", "10000"],
    effect: Effect::Words("The second column (dropped) of /proc/net/softnet_stat stands still."),
    restore: Restore::WriteBack,
    risk: "Long queues are latency.",
    applies: |at| at.only_if_backlog_dropped(),
};
