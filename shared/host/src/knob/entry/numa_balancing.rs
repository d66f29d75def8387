//! `kernel.numa_balancing`: move memory to the threads that use it.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "kernel.numa_balancing",
    title: "move memory to the threads that use it",
    site: Site::Sysctl("kernel/numa_balancing"),
    scope: Scope::Host,
    when: When::Live,
    here: "0 on one memory node.",
    nic: "Page faults that pinned threads don't need.",
    source: "kernel Documentation/admin-guide/sysctl/kernel; tuned's network-latency sets 0",
    values: &["0", "1"],
    effect: Effect::Words("numa_hint_faults in /proc/vmstat stands still."),
    restore: Restore::WriteBack,
    risk: "Unpinned programs lose locality.",
    applies: |at| at.only_with_several_nodes(),
};
