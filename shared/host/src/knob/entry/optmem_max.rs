//! `core.optmem_max`: option memory of a socket.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.optmem_max",
    title: "option memory of a socket",
    site: Site::Sysctl("net/core/optmem_max"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Nothing without MSG_ZEROCOPY.",
    nic: "Bounds the notifications of MSG_ZEROCOPY in flight.",
    source: "kernel Documentation/networking/msg_zerocopy",
    values: &["20480", "131072"],
    effect: Effect::Words("Sends with MSG_ZEROCOPY fail with ENOBUFS when it is too small."),
    restore: Restore::WriteBack,
    risk: "Memory times sockets.",
    applies: |at| at.not_on_loopback("zero-copy sends are copied on loopback, so their notifications never pile up"),
};
