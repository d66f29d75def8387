//! `core.skb_defer_max`: buffers kept for the CPU that allocated them.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.skb_defer_max",
    title: "buffers kept for the CPU that allocated them",
    site: Site::Sysctl("net/core/skb_defer_max"),
    scope: Scope::Host,
    when: When::Live,
    here: "Plausibly small: buffers freed on another CPU go back in batches, with an interrupt at half the capacity.",
    nic: "The same.",
    source: "commit 39564c3fdc66 (default 64 there)",
    values: &["0", "64", "128"],
    effect: Effect::Words("CAL and RES in /proc/interrupts a request."),
    restore: Restore::WriteBack,
    risk: "None known.",
    applies: |_| Fit::Applies,
};
