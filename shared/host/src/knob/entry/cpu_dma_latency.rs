//! `dev.cpu_dma_latency`: how deep idle CPUs may sleep, in microseconds.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.cpu_dma_latency",
    title: "how deep idle CPUs may sleep, in microseconds",
    site: Site::Hold("cpu_dma_latency"),
    scope: Scope::Host,
    when: When::Live,
    here: "Large at low load, where each request wakes a CPU; about 0 when saturated.",
    nic: "Large for tails.",
    source: "kernel Documentation/power/pm_qos_interface",
    values: &["0", "20"],
    effect: Effect::Words("time in /sys/devices/system/cpu/cpu*/cpuidle/state* stops growing for deep states."),
    restore: Restore::Automatic,
    risk: "Power and heat. The safest of all host settings: the kernel undoes it when the file is closed.",
    applies: |_| Fit::Applies,
};
