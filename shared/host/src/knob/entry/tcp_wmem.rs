//! `ipv4.tcp_wmem`: send memory of a connection: least, first, most.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_wmem",
    title: "send memory of a connection: least, first, most",
    site: Site::Sysctl("net/ipv4/tcp_wmem"),
    scope: Scope::Namespace,
    when: When::New,
    here: "0 for small answers; a larger first value can save waits with large bodies.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["4096 16384 4194304", "4096 262144 4194304"],
    effect: Effect::SendBuffer,
    restore: Restore::WriteBack,
    risk: "Memory times connections.",
    applies: |_| Fit::Applies,
};
