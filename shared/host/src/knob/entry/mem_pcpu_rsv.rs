//! `core.mem_pcpu_rsv`: pages of TCP memory kept by each CPU.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.mem_pcpu_rsv",
    title: "pages of TCP memory kept by each CPU",
    site: Site::Sysctl("net/core/mem_pcpu_rsv"),
    scope: Scope::Host,
    when: When::Live,
    here: "About 0.",
    nic: "Less of a shared counter on machines with many CPUs.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["64", "1024"],
    effect: Effect::Words("perf: time in __sk_mem_raise_allocated."),
    restore: Restore::WriteBack,
    risk: "Memory times CPUs.",
    applies: |_| Fit::Applies,
};
