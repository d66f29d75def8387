//! `core.gro_normal_batch`: packets that GRO hands up together.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.gro_normal_batch",
    title: "packets that GRO hands up together",
    site: Site::Sysctl("net/core/gro_normal_batch"),
    scope: Scope::Host,
    when: When::Live,
    here: "None: loopback packets don't pass through GRO.",
    nic: "Small.",
    source: "commit 323ebb61e32b",
    values: &["1", "8", "32"],
    effect: Effect::Words("CPU a packet; perf shows netif_receive_skb_list."),
    restore: Restore::WriteBack,
    risk: "None known.",
    applies: |at| at.not_on_loopback("packets on loopback don't pass through GRO"),
};
