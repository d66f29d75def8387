//! `kernel.sched_rt_runtime_us`: what real-time threads may take of a second.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "kernel.sched_rt_runtime_us",
    title: "what real-time threads may take of a second",
    site: Site::Sysctl("kernel/sched_rt_runtime_us"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing without real-time threads.",
    nic: "The same.",
    source: "sched(7)",
    values: &["950000", "-1"],
    effect: Effect::Words("A spinning real-time thread gets all of its CPU."),
    restore: Restore::WriteBack,
    risk: "-1 lets one loop stop the machine.",
    applies: |_| Fit::no_effect("none of the programs asks for a real-time class unless told to (cpu.fifo)"),
};
