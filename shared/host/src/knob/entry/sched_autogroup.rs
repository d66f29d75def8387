//! `kernel.sched_autogroup_enabled`: share CPU by session instead of by thread.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "kernel.sched_autogroup_enabled",
    title: "share CPU by session instead of by thread",
    site: Site::Sysctl("kernel/sched_autogroup_enabled"),
    scope: Scope::Host,
    when: When::Live,
    here: "Matters only when both programs were started from different sessions and compete for a core.",
    nic: "The same.",
    source: "sched(7)",
    values: &["0", "1"],
    effect: Effect::Words("/proc/PID/autogroup."),
    restore: Restore::WriteBack,
    risk: "Interactive work feels it.",
    applies: |_| Fit::Applies,
};
