//! `boot.skew_tick`: ticks of the CPUs at different times.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.skew_tick",
    title: "ticks of the CPUs at different times",
    site: Site::Boot("skew_tick=1"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Shorter tails on machines with many CPUs.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "A little more power.",
    applies: |_| Fit::Applies,
};
