//! `ipv4.tcp_min_tso_segs`: segments in the smallest large send.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_min_tso_segs",
    title: "segments in the smallest large send",
    site: Site::Sysctl("net/ipv4/tcp_min_tso_segs"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for answers of one segment.",
    nic: "Large bodies over paced connections.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["1", "2", "8"],
    effect: Effect::Words("Counts of device packets a byte (/sys/class/net/DEV/statistics) change for large bodies."),
    restore: Restore::WriteBack,
    risk: "Bursts.",
    applies: |_| Fit::Applies,
};
