//! `ipv4.tcp_early_retrans`: tail loss probes.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_early_retrans",
    title: "tail loss probes",
    site: Site::Sysctl("net/ipv4/tcp_early_retrans"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Small: one timer less to arm a send. Measured inside the noise (0.98).",
    nic: "Off is bad for tails under loss.",
    source: "kernel Documentation/networking/ip-sysctl; RFC 8985",
    values: &["0", "3"],
    effect: Effect::Counter { name: "TCPLossProbes", expect: "stays 0 when off" },
    restore: Restore::WriteBack,
    risk: "Lost tails wait for the full retransmission time-out.",
    applies: |_| Fit::Applies,
};
