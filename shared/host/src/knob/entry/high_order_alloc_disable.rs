//! `core.high_order_alloc_disable`: never take more than a page for socket buffers.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.high_order_alloc_disable",
    title: "never take more than a page for socket buffers",
    site: Site::Sysctl("net/core/high_order_alloc_disable"),
    scope: Scope::Host,
    when: When::Live,
    here: "About 0.",
    nic: "Historical.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["0", "1"],
    effect: Effect::Words("CPU a byte for bodies."),
    restore: Restore::WriteBack,
    risk: "1 costs CPU for bodies.",
    applies: |_| Fit::Applies,
};
