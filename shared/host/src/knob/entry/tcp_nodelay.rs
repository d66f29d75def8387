//! `sock.tcp_nodelay`: send small segments at once.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.tcp_nodelay",
    title: "send small segments at once",
    site: Site::Socket("TCP_NODELAY"),
    scope: Scope::Socket,
    when: When::Live,
    here: "Nothing while each answer is one send; without it an answer in two sends can wait 40 ms for a delayed \
         acknowledgement.",
    nic: "The same.",
    source: "tcp(7); RFC 896; RFC 1122 4.2.3.4",
    values: &["1", "0"],
    effect: Effect::Words("getsockopt(TCP_NODELAY); the tail of the latency shows 40 ms steps when it is missing."),
    restore: Restore::Automatic,
    risk: "None; it is on by default in both programs.",
    applies: |_| Fit::Applies,
};
