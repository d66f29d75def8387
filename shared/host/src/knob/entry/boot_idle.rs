//! `boot.idle`: idle CPUs spin.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.idle",
    title: "idle CPUs spin",
    site: Site::Boot("idle=poll"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Large at low load; see dev.cpu_dma_latency, which needs no reboot.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "Power and heat, and a sibling thread is slowed.",
    applies: |_| Fit::Applies,
};
