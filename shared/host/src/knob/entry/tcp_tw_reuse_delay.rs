//! `ipv4.tcp_tw_reuse_delay`: how old a TIME_WAIT must be to be taken over.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_tw_reuse_delay",
    title: "how old a TIME_WAIT must be to be taken over",
    site: Site::Sysctl("net/ipv4/tcp_tw_reuse_delay"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Shorter lets a churning client reuse a port sooner; nothing for kept connections.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl (found on 6.18)",
    values: &["100", "1000"],
    effect: Effect::Counter { name: "TWRecycled", expect: "grows while one client reconnects" },
    restore: Restore::WriteBack,
    risk: "Too short a delay meets segments of the old connection.",
    applies: |_| Fit::Applies,
};
