//! `ring.register_napi`: spin on device queues while waiting on a ring.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ring.register_napi",
    title: "spin on device queues while waiting on a ring",
    site: Site::Call("io_uring_register(IORING_REGISTER_NAPI)"),
    scope: Scope::Thread,
    when: When::Live,
    here: "None possible: accepted, but there is nothing to poll.",
    nic: "As busy polling, for one ring.",
    source: "liburing#1190 (with SQPOLL it starves attached rings); 6.9",
    values: &["0", "50"],
    effect: Effect::Counter { name: "BusyPollRxPackets", expect: "grows while it acts" },
    restore: Restore::Automatic,
    risk: "Burns CPU.",
    applies: |at| {
        at.not_on_loopback(
            "a loopback connection has no NAPI id (SO_INCOMING_NAPI_ID is 0): there is no device queue to poll",
        )
    },
};
