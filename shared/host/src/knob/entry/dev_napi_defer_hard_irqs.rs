//! `dev.napi_defer_hard_irqs`: empty polls before interrupts are switched on again.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.napi_defer_hard_irqs",
    title: "empty polls before interrupts are switched on again",
    site: Site::Device("napi_defer_hard_irqs"),
    scope: Scope::Device,
    when: When::Live,
    here: "None: no interrupt.",
    nic: "Fewer interrupts under load, together with dev.gro_flush_timeout; about 20 % at 100 Gbit/s with 32 queues.",
    source: "commit 6f8b12d661d0; kernel Documentation/networking/napi",
    values: &["0", "2"],
    effect: Effect::Words("/proc/interrupts grows more slowly for the device's queues."),
    restore: Restore::WriteBack,
    risk: "Latency up to gro_flush_timeout when load falls.",
    applies: |at| {
        at.not_on_loopback("loopback is worked off from the backlog of each CPU, which has no interrupt to defer")
    },
};
