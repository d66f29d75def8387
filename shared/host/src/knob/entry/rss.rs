//! `dev.rss`: how a card spreads flows over queues.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.rss",
    title: "how a card spreads flows over queues",
    site: Site::Command { set: "ethtool -X DEVICE equal QUEUES", undo: "ethtool -X DEVICE default" },
    scope: Scope::Device,
    when: When::Live,
    here: "None: one receive path.",
    nic: "Large with more queues than workers, or fewer.",
    source: "kernel Documentation/networking/scaling",
    values: &[],
    effect: Effect::Words("`ethtool -S` receive counts of each queue."),
    restore: Restore::Nothing,
    risk: "Open connections change queues.",
    applies: |at| at.not_on_loopback("loopback has no receive queue to choose from"),
};
