//! `sched.base_slice_ns`: the same for every thread.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sched.base_slice_ns",
    title: "the same for every thread",
    site: Site::Sys("kernel/debug/sched/base_slice_ns"),
    scope: Scope::Host,
    when: When::Live,
    here: "Small.",
    nic: "Small.",
    source: "kernel Documentation/scheduler/sched-eevdf",
    values: &["700000", "3000000"],
    effect: Effect::Words("Context switches a second (/proc/stat ctxt)."),
    restore: Restore::WriteBack,
    risk: "Needs debugfs, which lockdown refuses.",
    applies: |_| Fit::Applies,
};
