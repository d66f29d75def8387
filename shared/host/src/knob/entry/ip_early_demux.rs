//! `ipv4.ip_early_demux`: the same for all protocols.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.ip_early_demux",
    title: "the same for all protocols",
    site: Site::Sysctl("net/ipv4/ip_early_demux"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Small: it switches tcp_early_demux along.",
    nic: "Small; only routers gain from switching it off.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["0", "1"],
    effect: Effect::Words("CPU a request; perf shows tcp_v4_early_demux gone."),
    restore: Restore::WriteBack,
    risk: "None.",
    applies: |_| Fit::Applies,
};
