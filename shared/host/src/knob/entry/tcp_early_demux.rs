//! `ipv4.tcp_early_demux`: look the socket up before routing.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_early_demux",
    title: "look the socket up before routing",
    site: Site::Sysctl("net/ipv4/tcp_early_demux"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Small: saves a route look-up a segment.",
    nic: "Small; only routers gain from switching it off.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["0", "1"],
    effect: Effect::Words("CPU a request; perf shows tcp_v4_early_demux gone."),
    restore: Restore::WriteBack,
    risk: "None.",
    applies: |_| Fit::Applies,
};
