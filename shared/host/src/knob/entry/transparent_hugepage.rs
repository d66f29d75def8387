//! `vm.transparent_hugepage`: huge pages without asking.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "vm.transparent_hugepage",
    title: "huge pages without asking",
    site: Site::Sys("kernel/mm/transparent_hugepage/enabled"),
    scope: Scope::Host,
    when: When::New,
    here: "Small with small pools of buffers.",
    nic: "More with large pools.",
    source: "kernel Documentation/admin-guide/mm/transhuge; tuned's network-latency sets never",
    values: &["always", "madvise", "never"],
    effect: Effect::Words("AnonHugePages in /proc/PID/smaps_rollup."),
    restore: Restore::WriteBack,
    risk: "Memory, and stalls while pages are put together.",
    applies: |_| Fit::Applies,
};
