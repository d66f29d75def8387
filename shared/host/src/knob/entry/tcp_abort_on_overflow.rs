//! `ipv4.tcp_abort_on_overflow`: refuse at once when the accept queue is full.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_abort_on_overflow",
    title: "refuse at once when the accept queue is full",
    site: Site::Sysctl("net/ipv4/tcp_abort_on_overflow"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "Nothing for kept connections; in a burst it turns a wait of a second into a reset.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl (warns that it harms clients)",
    values: &["0", "1"],
    effect: Effect::Counter { name: "OutRsts", expect: "grows while the accept queue is full" },
    restore: Restore::WriteBack,
    risk: "Clients see resets that a retry would have avoided.",
    applies: |_| Fit::Applies,
};
