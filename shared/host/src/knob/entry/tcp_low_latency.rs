//! `ipv4.tcp_low_latency`: nothing any more.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_low_latency",
    title: "nothing any more",
    site: Site::Sysctl("net/ipv4/tcp_low_latency"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing: kept so that old scripts don't fail.",
    nic: "Nothing.",
    source: "kernel Documentation/networking/ip-sysctl (says it has no effect)",
    values: &["0", "1"],
    effect: Effect::Words("There is nothing to prove."),
    restore: Restore::WriteBack,
    risk: "None.",
    applies: |_| {
        Fit::no_effect("the prequeue that it steered was removed in Linux 4.14; the file is left for old scripts")
    },
};
