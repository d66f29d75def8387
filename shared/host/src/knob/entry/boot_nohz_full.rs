//! `boot.nohz_full`: no tick on busy CPUs.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.nohz_full",
    title: "no tick on busy CPUs",
    site: Site::Boot("nohz_full=CPUS"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Shorter tails on CPUs with one thread.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/kernel-parameters",
    values: &[],
    effect: Effect::Words("/proc/cmdline, then the figures of both boots, taken in the order A B B A."),
    restore: Restore::Reboot,
    risk: "Needs a kernel built with NO_HZ_FULL.",
    applies: |_| Fit::Applies,
};
