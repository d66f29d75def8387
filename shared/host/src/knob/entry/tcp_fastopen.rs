//! `ipv4.tcp_fastopen`: data in the SYN: 1 for clients, 2 for servers.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_fastopen",
    title: "data in the SYN: 1 for clients, 2 for servers",
    site: Site::Sysctl("net/ipv4/tcp_fastopen"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Only where each request has its own connection: saves one round trip. Both programs must ask for it \
         (TCP_FASTOPEN).",
    nic: "The same, and the longer the way the more.",
    source: "kernel Documentation/networking/ip-sysctl; RFC 7413; tuned's network-latency sets 3",
    values: &["0", "1", "3"],
    effect: Effect::Counter { name: "TCPFastOpenPassive", expect: "grows by one a connection" },
    restore: Restore::WriteBack,
    risk: "Middleboxes drop such SYNs; the kernel then backs off for an hour. A repeated SYN repeats its data.",
    applies: |_| Fit::Applies,
};
