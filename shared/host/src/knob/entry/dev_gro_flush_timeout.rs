//! `dev.gro_flush_timeout`: nanoseconds until a deferred queue is looked at.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.gro_flush_timeout",
    title: "nanoseconds until a deferred queue is looked at",
    site: Site::Device("gro_flush_timeout"),
    scope: Scope::Device,
    when: When::Live,
    here: "None: no interrupt.",
    nic: "See dev.napi_defer_hard_irqs.",
    source: "commit 6f8b12d661d0; kernel Documentation/networking/napi",
    values: &["0", "20000", "200000"],
    effect: Effect::Words("/proc/interrupts grows more slowly for the device's queues."),
    restore: Restore::WriteBack,
    risk: "Adds up to its own length to latency.",
    applies: |at| {
        at.not_on_loopback("loopback is worked off from the backlog of each CPU, which has no interrupt to defer")
    },
};
