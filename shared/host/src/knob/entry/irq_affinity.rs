//! `irq.affinity`: CPUs that take a device's interrupts.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "irq.affinity",
    title: "CPUs that take a device's interrupts",
    site: Site::Command { set: "echo MASK > /proc/irq/NUMBER/smp_affinity", undo: "the same with the old mask" },
    scope: Scope::Host,
    when: When::Live,
    here: "None: no interrupt.",
    nic: "Large: one step of what is called perfect locality.",
    source: "kernel Documentation/networking/scaling",
    values: &[],
    effect: Effect::Words("/proc/interrupts grows in the chosen column only."),
    restore: Restore::Nothing,
    risk: "irqbalance moves it back.",
    applies: |at| at.not_on_loopback("loopback raises no interrupt"),
};
