//! `cpu.boost`: rates above the nominal one.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.boost",
    title: "rates above the nominal one",
    site: Site::Sys("devices/system/cpu/cpufreq/boost"),
    scope: Scope::Host,
    when: When::Live,
    here: "Faster and noisier: off for measuring.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/pm/cpufreq",
    values: &["0", "1"],
    effect: Effect::Words("scaling_cur_freq never exceeds base_frequency."),
    restore: Restore::WriteBack,
    risk: "Slower.",
    applies: |_| Fit::Applies,
};
