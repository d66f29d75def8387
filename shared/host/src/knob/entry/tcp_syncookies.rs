//! `ipv4.tcp_syncookies`: cookies when the SYN queue is full.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_syncookies",
    title: "cookies when the SYN queue is full",
    site: Site::Sysctl("net/ipv4/tcp_syncookies"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing unless the queue of half-open connections overflows.",
    nic: "Keeps a server reachable under a flood, at the price of lost TCP options.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["0", "1", "2"],
    effect: Effect::Counter { name: "SyncookiesSent", expect: "grows only while the queue is full (always, with 2)" },
    restore: Restore::WriteBack,
    risk: "0 leaves the machine open to SYN floods.",
    applies: |_| Fit::Applies,
};
