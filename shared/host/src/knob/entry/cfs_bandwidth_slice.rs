//! `kernel.sched_cfs_bandwidth_slice_us`: how CPU quota is dealt out.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "kernel.sched_cfs_bandwidth_slice_us",
    title: "how CPU quota is dealt out",
    site: Site::Sysctl("kernel/sched_cfs_bandwidth_slice_us"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing without a CPU quota.",
    nic: "Shorter stalls in containers with one.",
    source: "kernel Documentation/scheduler/sched-bwc",
    values: &["1000", "5000"],
    effect: Effect::Words("nr_throttled in the group's cpu.stat."),
    restore: Restore::WriteBack,
    risk: "Smaller costs more bookkeeping.",
    applies: |_| Fit::Applies,
};
