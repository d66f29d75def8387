//! `sched.ext`: a scheduler loaded as BPF.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sched.ext",
    title: "a scheduler loaded as BPF",
    site: Site::Command {
        set: "start an scx scheduler, such as scx_lavd",
        undo: "end it: the kernel goes back by itself",
    },
    scope: Scope::Host,
    when: When::Live,
    here: "Varies.",
    nic: "Varies.",
    source: "kernel Documentation/scheduler/sched-ext (6.12)",
    values: &[],
    effect: Effect::Words("/sys/kernel/sched_ext/state is enabled."),
    restore: Restore::Automatic,
    risk: "A bad one is thrown out after seconds of standstill.",
    applies: |_| Fit::Applies,
};
