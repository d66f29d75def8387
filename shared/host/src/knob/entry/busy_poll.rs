//! `core.busy_poll`: spin on device queues in poll and select.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.busy_poll",
    title: "spin on device queues in poll and select",
    site: Site::Sysctl("net/core/busy_poll"),
    scope: Scope::Host,
    when: When::Live,
    here: "None possible: nothing to poll.",
    nic: "Lower latency for much CPU.",
    source: "kernel Documentation/admin-guide/sysctl/net; tuned's network-latency sets 50",
    values: &["0", "50"],
    effect: Effect::Counter { name: "BusyPollRxPackets", expect: "grows while it acts" },
    restore: Restore::WriteBack,
    risk: "Burns CPU on the whole machine.",
    applies: |at| {
        at.not_on_loopback(
            "a loopback connection has no NAPI id (SO_INCOMING_NAPI_ID is 0): there is no device queue to poll",
        )
    },
};
