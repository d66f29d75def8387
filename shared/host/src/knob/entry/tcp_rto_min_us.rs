//! `ipv4.tcp_rto_min_us`: the shortest retransmission time-out.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_rto_min_us",
    title: "the shortest retransmission time-out",
    site: Site::Sysctl("net/ipv4/tcp_rto_min_us"),
    scope: Scope::Namespace,
    when: When::New,
    here: "0 without loss.",
    nic: "Shorter tails under loss in a data centre.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["5000", "200000"],
    effect: Effect::Words("ss -ti: rto follows once a round trip has been sampled."),
    restore: Restore::WriteBack,
    risk: "Too short repeats what wasn't lost.",
    applies: |at| at.not_on_loopback("loopback loses nothing, so nothing is ever retransmitted"),
};
