//! `sock.so_busy_poll`: spin on the device queue of one socket.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.so_busy_poll",
    title: "spin on the device queue of one socket",
    site: Site::Socket("SO_BUSY_POLL, SO_PREFER_BUSY_POLL"),
    scope: Scope::Socket,
    when: When::Live,
    here: "None possible: nothing to poll.",
    nic: "Lower latency for much CPU, for this socket only.",
    source: "socket(7); kernel Documentation/networking/napi",
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
