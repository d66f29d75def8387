//! `sock.tcp_defer_accept`: accept only once data has come.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.tcp_defer_accept",
    title: "accept only once data has come",
    site: Site::Socket("TCP_DEFER_ACCEPT"),
    scope: Scope::Socket,
    when: When::New,
    here: "About 0 or worse for kept connections.",
    nic: "Saves a wake-up a connection for short-lived ones.",
    source: "tcp(7)",
    values: &["0", "1", "5"],
    effect: Effect::Counter { name: "TCPDeferAcceptDrop", expect: "grows while it holds handshakes back" },
    restore: Restore::Automatic,
    risk: "Clients that wait for the server to speak first hang.",
    applies: |_| Fit::Applies,
};
