//! `ipv4.ip_local_port_range`: the ports that connecting sockets take.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.ip_local_port_range",
    title: "the ports that connecting sockets take",
    site: Site::Sysctl("net/ipv4/ip_local_port_range"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "No speed; with the default at most 28 k connections to one address and port, which a load tool can reach.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl (recommends ends of different parity)",
    values: &["32768 60999", "1024 65535"],
    effect: Effect::LocalPort,
    restore: Restore::WriteBack,
    risk: "A server port inside the range can be taken by a client; reserve it in ip_local_reserved_ports.",
    applies: |_| Fit::Applies,
};
