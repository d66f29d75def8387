//! `ipv4.tcp_migrate_req`: hand waiting connections to another listener of the group.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_migrate_req",
    title: "hand waiting connections to another listener of the group",
    site: Site::Sysctl("net/ipv4/tcp_migrate_req"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "No speed. A worker that closes its listener loses none of the connections waiting in it.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl (5.14)",
    values: &["0", "1"],
    effect: Effect::Counter {
        name: "TCPMigrateReqSuccess",
        expect: "grows when a listener of a group closes with a full queue",
    },
    restore: Restore::WriteBack,
    risk: "The listeners of a group must have equal options, or accepted sockets surprise the program.",
    applies: |_| Fit::Applies,
};
