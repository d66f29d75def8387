//! `sock.tcp_quickack`: acknowledge at once.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.tcp_quickack",
    title: "acknowledge at once",
    site: Site::Socket("TCP_QUICKACK"),
    scope: Scope::Socket,
    when: When::Live,
    here: "Worse: more segments that carry an acknowledgement only.",
    nic: "Mixed: can end a peer's wait, costs segments.",
    source: "tcp(7)",
    values: &["0", "1"],
    effect: Effect::Counter { name: "TCPPureAcks", expect: "grows faster a request" },
    restore: Restore::Automatic,
    risk: "It isn't permanent: the kernel may leave the mode by itself.",
    applies: |_| Fit::Applies,
};
