//! `ipv4.tcp_rmem`: receive memory of a connection: least, first, most.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_rmem",
    title: "receive memory of a connection: least, first, most",
    site: Site::Sysctl("net/ipv4/tcp_rmem"),
    scope: Scope::Namespace,
    when: When::New,
    here: "0 for small answers.",
    nic: "Large bodies over long ways need a larger most.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["4096 131072 6291456", "4096 16384 6291456"],
    effect: Effect::ReceiveBuffer,
    restore: Restore::WriteBack,
    risk: "Memory times connections.",
    applies: |_| Fit::Applies,
};
