//! `cpu.timer_slack`: how late a sleep may end.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.timer_slack",
    title: "how late a sleep may end",
    site: Site::Call("prctl(PR_SET_TIMERSLACK)"),
    scope: Scope::Thread,
    when: When::Live,
    here: "0 for waits on a ring, whose timers have no slack; matters to load tools that sleep by nanosleep or epoll.",
    nic: "The same.",
    source: "prctl(2) (50 us by default)",
    values: &["1", "50000"],
    effect: Effect::Words("/proc/PID/timerslack_ns."),
    restore: Restore::Automatic,
    risk: "More timer interrupts.",
    applies: |_| Fit::no_effect("waits on a ring use timers without slack"),
};
