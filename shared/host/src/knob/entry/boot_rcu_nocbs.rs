//! `boot.rcu_nocbs`: RCU callbacks run elsewhere.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.rcu_nocbs",
    title: "RCU callbacks run elsewhere",
    site: Site::Boot("rcu_nocbs=CPUS"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Shorter tails.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "More wake-ups.",
    applies: |_| Fit::Applies,
};
