//! `ipv4.tcp_limit_output_bytes`: bytes of one connection below TCP.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_limit_output_bytes",
    title: "bytes of one connection below TCP",
    site: Site::Sysctl("net/ipv4/tcp_limit_output_bytes"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for small answers; large bodies can gain or lose.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl (its default differs from the 4 MiB of 6.18: read, never assume)",
    values: &["262144", "1048576", "4194304"],
    effect: Effect::Words("ss -ti shows fewer or more bytes unsent for a large body."),
    restore: Restore::WriteBack,
    risk: "Small values starve a card, large ones add latency.",
    applies: |_| Fit::Applies,
};
