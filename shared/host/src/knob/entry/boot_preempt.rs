//! `boot.preempt`: when the kernel lets another thread run.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.preempt",
    title: "when the kernel lets another thread run",
    site: Site::Boot("preempt=none|voluntary|full|lazy"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Small: throughput against tails.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "None.",
    applies: |_| Fit::Applies,
};
