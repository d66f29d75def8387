//! `ipv4.tcp_pingpong_thresh`: exchanges before a connection counts as interactive.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_pingpong_thresh",
    title: "exchanges before a connection counts as interactive",
    site: Site::Sysctl("net/ipv4/tcp_pingpong_thresh"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Lower delays acknowledgements sooner, so that they ride on answers: fewer segments.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["1", "3"],
    effect: Effect::Counter { name: "DelayedACKs", expect: "changes a request" },
    restore: Restore::WriteBack,
    risk: "A one-way sender may meet delayed acknowledgements.",
    applies: |_| Fit::Applies,
};
