//! `kernel.audit`: records of system calls.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "kernel.audit",
    title: "records of system calls",
    site: Site::Command { set: "auditctl -e 0", undo: "auditctl -e 1" },
    scope: Scope::Host,
    when: When::Live,
    here: "A cost a system call while any rule is loaded.",
    nic: "The same.",
    source: "auditctl(8)",
    values: &["0", "1"],
    effect: Effect::Words("`auditctl -s` and `auditctl -l`."),
    restore: Restore::Nothing,
    risk: "Records are missing afterwards.",
    applies: |_| Fit::Applies,
};
