//! `ipv4.tcp_mem`: pages of memory for all of TCP.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_mem",
    title: "pages of memory for all of TCP",
    site: Site::Sysctl("net/ipv4/tcp_mem"),
    scope: Scope::Host,
    when: When::Live,
    here: "0 until memory is short.",
    nic: "The same; look at it from 100 k connections on.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["189225 252301 378450"],
    effect: Effect::Counter { name: "TCPMemoryPressures", expect: "grows when the middle value is met" },
    restore: Restore::WriteBack,
    risk: "Too low stalls every connection of the machine.",
    applies: |at| at.only_if_counted("TCPMemoryPressures", "TCP has never been short of memory since boot"),
};
