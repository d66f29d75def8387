//! `cpu.affinity`: which CPU a thread runs on.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.affinity",
    title: "which CPU a thread runs on",
    site: Site::Call("sched_setaffinity(2)"),
    scope: Scope::Thread,
    when: When::Live,
    here: "First order: pairs that share a core did 30 % more requests a second than pairs split over cores.",
    nic: "First order.",
    source: "sched_setaffinity(2); measured on two cores",
    values: &[],
    effect: Effect::Words("The Cpus_allowed_list of /proc/PID/status, and getcpu(2) inside."),
    restore: Restore::Automatic,
    risk: "A CPU that is shared with others cannot be escaped.",
    applies: |_| Fit::Applies,
};
