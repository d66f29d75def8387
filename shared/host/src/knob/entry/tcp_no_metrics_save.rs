//! `ipv4.tcp_no_metrics_save`: forget what earlier connections learned.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_no_metrics_save",
    title: "forget what earlier connections learned",
    site: Site::Sysctl("net/ipv4/tcp_no_metrics_save"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Not speed but hygiene: with 0 one run's round-trip times and windows start the next run's connections.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["0", "1"],
    effect: Effect::Words("`ip tcp_metrics show` stays empty after connections close."),
    restore: Restore::WriteBack,
    risk: "New connections start from nothing.",
    applies: |_| Fit::Applies,
};
