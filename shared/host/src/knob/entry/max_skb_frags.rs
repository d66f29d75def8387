//! `core.max_skb_frags`: pieces of one socket buffer.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.max_skb_frags",
    title: "pieces of one socket buffer",
    site: Site::Sysctl("net/core/max_skb_frags"),
    scope: Scope::Host,
    when: When::Live,
    here: "About 0.",
    nic: "Cards with a limit of their own.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["17", "45"],
    effect: Effect::Words("Segments a body."),
    restore: Restore::WriteBack,
    risk: "None known.",
    applies: |_| Fit::Applies,
};
