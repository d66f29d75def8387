//! `dev.coalesce`: how long a card waits before it interrupts.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.coalesce",
    title: "how long a card waits before it interrupts",
    site: Site::Command {
        set: "ethtool -C DEVICE rx-usecs MICROSECONDS",
        undo: "the same with the values of `ethtool -c DEVICE`",
    },
    scope: Scope::Device,
    when: When::Live,
    here: "None: no interrupt.",
    nic: "Latency against CPU, often the largest choice on a card.",
    source: "ethtool(8)",
    values: &["0", "8", "64"],
    effect: Effect::Words("/proc/interrupts a second."),
    restore: Restore::Nothing,
    risk: "0 can drown a CPU in interrupts.",
    applies: |at| at.not_on_loopback("loopback raises no interrupt"),
};
