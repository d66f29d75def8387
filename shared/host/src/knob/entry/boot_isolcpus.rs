//! `boot.isolcpus`: CPUs that the scheduler leaves alone.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.isolcpus",
    title: "CPUs that the scheduler leaves alone",
    site: Site::Boot("isolcpus=CPUS"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Shorter tails; cpusets are the modern way.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "Threads that aren't pinned never run there.",
    applies: |_| Fit::Applies,
};
