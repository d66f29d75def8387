//! `ipv4.tcp_max_tw_buckets`: TIME_WAIT sockets kept at once.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_max_tw_buckets",
    title: "TIME_WAIT sockets kept at once",
    site: Site::Sysctl("net/ipv4/tcp_max_tw_buckets"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for kept connections; under churn it bounds memory.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["4096", "262144"],
    effect: Effect::Counter { name: "TCPTimeWaitOverflow", expect: "grows once the limit is met" },
    restore: Restore::WriteBack,
    risk: "Below what the rate needs, connections lose the protection of TIME_WAIT.",
    applies: |_| Fit::Applies,
};
