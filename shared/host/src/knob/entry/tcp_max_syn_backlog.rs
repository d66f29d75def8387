//! `ipv4.tcp_max_syn_backlog`: half-open connections of one listener.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_max_syn_backlog",
    title: "half-open connections of one listener",
    site: Site::Sysctl("net/ipv4/tcp_max_syn_backlog"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for kept connections.",
    nic: "Helps when SYNs come faster than their handshakes end.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["128", "2048", "65535"],
    effect: Effect::Counter { name: "TCPReqQFullDoCookies", expect: "stays 0" },
    restore: Restore::WriteBack,
    risk: "Memory for each half-open connection under a flood.",
    applies: |_| Fit::Applies,
};
