//! `dev.rings`: descriptors of a card's queues.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.rings",
    title: "descriptors of a card's queues",
    site: Site::Command {
        set: "ethtool -G DEVICE rx COUNT tx COUNT",
        undo: "the same with the values of `ethtool -g DEVICE`",
    },
    scope: Scope::Device,
    when: When::Live,
    here: "None.",
    nic: "Drops in bursts when small, cache misses when large.",
    source: "ethtool(8)",
    values: &[],
    effect: Effect::Words("`ethtool -g`; rx_missed and drops in `ethtool -S`."),
    restore: Restore::Nothing,
    risk: "The link goes down for a moment.",
    applies: |at| at.not_on_loopback("loopback has no descriptors"),
};
