//! `dev.rps_flow_cnt`: flows a queue remembers for RFS.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.rps_flow_cnt",
    title: "flows a queue remembers for RFS",
    site: Site::Device("queues/rx-*/rps_flow_cnt"),
    scope: Scope::Device,
    when: When::Live,
    here: "As dev.rps_cpus, towards the CPU that reads; needs core.rps_sock_flow_entries.",
    nic: "The same.",
    source: "kernel Documentation/networking/scaling",
    values: &["0", "4096"],
    effect: Effect::Words("NET_RX in /proc/softirqs follows the reading thread."),
    restore: Restore::WriteBack,
    risk: "Nothing without core.rps_sock_flow_entries.",
    applies: |_| Fit::Applies,
};
