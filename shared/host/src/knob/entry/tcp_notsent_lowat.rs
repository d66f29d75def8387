//! `ipv4.tcp_notsent_lowat`: unsent bytes at which a socket is writable.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_notsent_lowat",
    title: "unsent bytes at which a socket is writable",
    site: Site::Sysctl("net/ipv4/tcp_notsent_lowat"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for small answers; a ring's send doesn't ask for writability.",
    nic: "Less memory and fresher data for large bodies.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["16384", "4294967295"],
    effect: Effect::Words("ss -tm shows less memory queued in sockets that send large bodies."),
    restore: Restore::WriteBack,
    risk: "More wake-ups a byte.",
    applies: |_| Fit::Applies,
};
