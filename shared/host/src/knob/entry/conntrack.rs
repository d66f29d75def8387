//! `nf.conntrack`: connection tracking and packet filter rules.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "nf.conntrack",
    title: "connection tracking and packet filter rules",
    site: Site::Command {
        set: "nft add rule inet filter input ct state established accept",
        undo: "nft delete table inet filter",
    },
    scope: Scope::Namespace,
    when: When::Live,
    here: "A cost on every packet, on loopback too: a second look-up and a lock.",
    nic: "The same; a fifth in one well-known tuning log.",
    source: "nft(8); compare a bare namespace with one that tracks",
    values: &[],
    effect: Effect::Words("/proc/sys/net/netfilter/nf_conntrack_count grows with connections."),
    restore: Restore::Nothing,
    risk: "Rules can cut you off.",
    applies: |_| Fit::Applies,
};
