//! `cpu.epp`: speed against power, as the CPU sees it.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.epp",
    title: "speed against power, as the CPU sees it",
    site: Site::Sys("devices/system/cpu/cpu*/cpufreq/energy_performance_preference"),
    scope: Scope::Host,
    when: When::Live,
    here: "First-order noise: fix it in all arms.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/pm/intel_pstate",
    values: &["performance", "balance_performance"],
    effect: Effect::Words("scaling_cur_freq stays at the top."),
    restore: Restore::WriteBack,
    risk: "Power and heat.",
    applies: |_| Fit::Applies,
};
