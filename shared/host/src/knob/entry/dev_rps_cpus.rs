//! `dev.rps_cpus`: CPUs that take over received packets (mask).

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.rps_cpus",
    title: "CPUs that take over received packets (mask)",
    site: Site::Device("queues/rx-*/rps_cpus"),
    scope: Scope::Device,
    when: When::Live,
    here: "Real, either way: moves the receiver's work off the sender's CPU at the price of an interrupt between \
         CPUs.",
    nic: "Spreads a single queue over CPUs.",
    source: "kernel Documentation/networking/scaling",
    values: &["0", "1", "3"],
    effect: Effect::Words("NET_RX in /proc/softirqs moves to the CPUs of the mask."),
    restore: Restore::WriteBack,
    risk: "Leaves a trace on the whole machine when a namespace dies with it set (its static key is never switched \
         off): write 0 first.",
    applies: |_| Fit::Applies,
};
