//! `sock.so_rcvbuf`: a fixed receive or send buffer.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.so_rcvbuf",
    title: "a fixed receive or send buffer",
    site: Site::Socket("SO_RCVBUF, SO_SNDBUF"),
    scope: Scope::Socket,
    when: When::New,
    here: "0 for small answers.",
    nic: "Worse than leaving it alone more often than not: the kernel stops adjusting the buffer.",
    source: "kernel Documentation/networking/ip-sysctl; socket(7)",
    values: &[],
    effect: Effect::Words("getsockopt(SO_RCVBUF) gives twice what was set."),
    restore: Restore::Automatic,
    risk: "Switches automatic tuning off.",
    applies: |_| Fit::Applies,
};
