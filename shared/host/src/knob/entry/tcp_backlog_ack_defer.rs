//! `ipv4.tcp_backlog_ack_defer`: acknowledge once after the backlog has been worked off.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_backlog_ack_defer",
    title: "acknowledge once after the backlog has been worked off",
    site: Site::Sysctl("net/ipv4/tcp_backlog_ack_defer"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "About 0.",
    nic: "Fewer acknowledgements when a busy receiver falls behind.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["0", "1"],
    effect: Effect::Counter { name: "TCPAckCompressed", expect: "or TCPPureAcks change a request" },
    restore: Restore::WriteBack,
    risk: "None known.",
    applies: |_| Fit::Applies,
};
