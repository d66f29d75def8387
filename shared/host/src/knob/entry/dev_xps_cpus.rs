//! `dev.xps_cpus`: CPUs that send through a queue (mask).

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.xps_cpus",
    title: "CPUs that send through a queue (mask)",
    site: Site::Device("queues/tx-*/xps_cpus"),
    scope: Scope::Device,
    when: When::Live,
    here: "None: loopback has no transmit queue.",
    nic: "Locality on cards with several queues.",
    source: "kernel Documentation/networking/scaling",
    values: &["0", "1", "3"],
    effect: Effect::Words("`ethtool -S` counts of each transmit queue follow the CPU."),
    restore: Restore::WriteBack,
    risk: "One queue for all makes a lock hot.",
    applies: |at| at.not_on_loopback("loopback sends without a queue"),
};
