//! `ipv4.tcp_fin_timeout`: how long an orphan waits in FIN_WAIT_2.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_fin_timeout",
    title: "how long an orphan waits in FIN_WAIT_2",
    site: Site::Sysctl("net/ipv4/tcp_fin_timeout"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "About 0: both ends close.",
    nic: "Frees memory sooner when peers never finish their close.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["10", "60"],
    effect: Effect::Counter { name: "TCPAbortOnTimeout", expect: "grows when peers never close" },
    restore: Restore::WriteBack,
    risk: "Too short resets slow peers.",
    applies: |_| {
        Fit::no_effect(
            "it is the time of orphans in FIN_WAIT_2, not of TIME_WAIT, which lasts 60 s whatever is written here",
        )
    },
};
