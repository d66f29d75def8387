//! `ipv4.tcp_congestion_control`: who decides how fast to send.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_congestion_control",
    title: "who decides how fast to send",
    site: Site::Sysctl("net/ipv4/tcp_congestion_control"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Real: bbr without the fq qdisc paces by its own timers. Measured here: reno instead of bbr 0.96 of the CPU \
         per request (±0.03).",
    nic: "Large, and dependent on the path.",
    source: "commits 218af599fa63 and 864e5c090749 (about 10 % of TCP_RR for timers armed needlessly)",
    values: &["reno", "cubic", "bbr"],
    effect: Effect::Congestion,
    restore: Restore::WriteBack,
    risk: "An accepted connection inherits its listener's: restart the server after a change.",
    applies: |_| Fit::Applies,
};
