//! `ipv4.tcp_autocorking`: hold small sends back while others wait in the device.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_autocorking",
    title: "hold small sends back while others wait in the device",
    site: Site::Sysctl("net/ipv4/tcp_autocorking"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "About 0: loopback has no transmit queue to wait in.",
    nic: "Joins many small sends; nothing when each answer is one send.",
    source: "commit f54b311142a9",
    values: &["0", "1"],
    effect: Effect::Counter { name: "TCPAutoCorking", expect: "grows only while it acts" },
    restore: Restore::WriteBack,
    risk: "None known.",
    applies: |at| at.not_on_loopback("loopback has no transmit queue, so nothing ever waits for it"),
};
