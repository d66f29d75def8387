//! `core.rps_sock_flow_entries`: the machine's table of flows for RFS.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.rps_sock_flow_entries",
    title: "the machine's table of flows for RFS",
    site: Site::Sysctl("net/core/rps_sock_flow_entries"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing alone; see dev.rps_flow_cnt.",
    nic: "The same.",
    source: "kernel Documentation/networking/scaling",
    values: &["0", "32768"],
    effect: Effect::Words("NET_RX in /proc/softirqs follows the reading thread."),
    restore: Restore::WriteBack,
    risk: "Memory; one look-up more in every receive of the machine.",
    applies: |_| Fit::Applies,
};
