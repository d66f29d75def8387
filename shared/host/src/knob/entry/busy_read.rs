//! `core.busy_read`: spin on device queues in a blocking read.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.busy_read",
    title: "spin on device queues in a blocking read",
    site: Site::Sysctl("net/core/busy_read"),
    scope: Scope::Host,
    when: When::New,
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
