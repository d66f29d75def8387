//! `dev.irq_suspend_timeout`: keep interrupts off while the program keeps polling.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.irq_suspend_timeout",
    title: "keep interrupts off while the program keeps polling",
    site: Site::Command {
        set: "ynl --family netdev --do napi-set --json '{\"id\":ID,\"irq-suspend-timeout\":NANOSECONDS}'",
        undo: "the same with 0",
    },
    scope: Scope::Device,
    when: When::Live,
    here: "None: no interrupt.",
    nic: "Polling under load and interrupts when idle, without a fixed trade-off; made for epoll, no ring has it.",
    source: "kernel Documentation/networking/napi",
    values: &[],
    effect: Effect::Words("/proc/interrupts stands still for the queue under load."),
    restore: Restore::Nothing,
    risk: "Needs the program's cooperation (EPIOCSPARAMS).",
    applies: |at| {
        at.not_on_loopback("loopback is worked off from the backlog of each CPU, which has no interrupt to defer")
    },
};
