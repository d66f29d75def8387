//! `dev.offloads`: GRO, GSO, TSO, LRO.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.offloads",
    title: "GRO, GSO, TSO, LRO",
    site: Site::Command {
        set: "ethtool -K DEVICE gro VALUE gso VALUE tso VALUE",
        undo: "the same with the values of `ethtool -k DEVICE`",
    },
    scope: Scope::Device,
    when: When::Live,
    here: "About 0 for small answers, much for bodies.",
    nic: "The same; off helps single small exchanges a little.",
    source: "ethtool(8)",
    values: &["on", "off"],
    effect: Effect::Words("`ethtool -k`; segments a body (RetransSegs aside) in /proc/net/snmp OutSegs."),
    restore: Restore::Nothing,
    risk: "Off costs much CPU for bodies.",
    applies: |_| Fit::Applies,
};
