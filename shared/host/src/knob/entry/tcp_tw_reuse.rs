//! `ipv4.tcp_tw_reuse`: connecting may take over a port in TIME_WAIT.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_tw_reuse",
    title: "connecting may take over a port in TIME_WAIT",
    site: Site::Sysctl("net/ipv4/tcp_tw_reuse"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Already on for loopback by default (2), so it can matter only when it is switched off: churning clients \
         then run out of ports.",
    nic: "Only for the side that connects, and only with many connections a second to one address.",
    source: "kernel Documentation/networking/ip-sysctl; commit 79e9fed46038 (32 k connections in 24 s without, 50 k in \
         4.7 s with); write-up W3 sets 1",
    values: &["0", "1", "2"],
    effect: Effect::Counter { name: "TWRecycled", expect: "grows while one client reconnects" },
    restore: Restore::WriteBack,
    risk: "Needs time stamps; a late segment of the old connection can reach the new one.",
    applies: |_| Fit::Applies,
};
