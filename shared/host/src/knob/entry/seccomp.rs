//! `proc.seccomp`: a filter in front of every system call.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "proc.seccomp",
    title: "a filter in front of every system call",
    site: Site::Call("prctl(PR_SET_SECCOMP), the container's profile"),
    scope: Scope::Thread,
    when: When::Live,
    here: "A cost a system call: batching shrinks it.",
    nic: "The same.",
    source: "seccomp(2)",
    values: &[],
    effect: Effect::Words("Seccomp: 2 in /proc/PID/status."),
    restore: Restore::Automatic,
    risk: "It can't be taken off again.",
    applies: |_| Fit::Applies,
};
