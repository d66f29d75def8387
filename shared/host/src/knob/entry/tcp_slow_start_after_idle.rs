//! `ipv4.tcp_slow_start_after_idle`: shrink the window after a pause.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_slow_start_after_idle",
    title: "shrink the window after a pause",
    site: Site::Sysctl("net/ipv4/tcp_slow_start_after_idle"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "0: the window never limits small answers.",
    nic: "Off helps large answers on connections that rest between requests.",
    source: "kernel Documentation/networking/ip-sysctl (default 1); RFC 5681 4.1",
    values: &["0", "1"],
    effect: Effect::Words("ss -ti: cwnd stays high after a pause longer than the retransmission time-out."),
    restore: Restore::WriteBack,
    risk: "A burst into a network that has changed meanwhile.",
    applies: |_| Fit::Applies,
};
