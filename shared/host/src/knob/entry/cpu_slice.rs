//! `cpu.slice`: how long a thread runs before another may.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.slice",
    title: "how long a thread runs before another may",
    site: Site::Call("sched_setattr(2) with sched_runtime of 0.1 to 100 ms"),
    scope: Scope::Thread,
    when: When::Live,
    here: "Wake-up latency against switches; needs no privilege.",
    nic: "The same.",
    source: "commit 857b158dc5e8 (6.12)",
    values: &["100000", "3000000"],
    effect: Effect::Words("se.slice in /proc/PID/sched."),
    restore: Restore::Automatic,
    risk: "None.",
    applies: |_| Fit::Applies,
};
