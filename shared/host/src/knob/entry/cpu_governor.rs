//! `cpu.governor`: who chooses the clock rate.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.governor",
    title: "who chooses the clock rate",
    site: Site::Sys("devices/system/cpu/cpu*/cpufreq/scaling_governor"),
    scope: Scope::Host,
    when: When::Live,
    here: "First-order noise: fix it in all arms.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/pm/cpufreq",
    values: &["performance", "schedutil", "powersave"],
    effect: Effect::Words("scaling_cur_freq stays at the top."),
    restore: Restore::WriteBack,
    risk: "Power and heat.",
    applies: |_| Fit::Applies,
};
