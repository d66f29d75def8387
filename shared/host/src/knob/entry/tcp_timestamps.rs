//! `ipv4.tcp_timestamps`: 12 bytes of time stamps in every segment.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, TcpOption, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_timestamps",
    title: "12 bytes of time stamps in every segment",
    site: Site::Sysctl("net/ipv4/tcp_timestamps"),
    scope: Scope::Namespace,
    when: When::New,
    here: "A small gain when off: 12 bytes and one comparison less a segment. Measured with all other options alike: \
         0.98 of the CPU per request, inside the noise.",
    nic: "A small gain when off; loses protection against wrapped sequence numbers and good round-trip samples.",
    source: "kernel Documentation/networking/ip-sysctl (default 1); write-up W3 sets 1, which is the default",
    values: &["0", "1", "2"],
    effect: Effect::Negotiated(TcpOption::Timestamps),
    restore: Restore::WriteBack,
    risk: "Off, fast links can accept old segments as new ones (PAWS is gone) and tcp_tw_reuse stops working.",
    applies: |_| Fit::Applies,
};
