//! `cpu.fifo`: real-time priority.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "cpu.fifo",
    title: "real-time priority",
    site: Site::Call("sched_setscheduler(2), `chrt -f 1 COMMAND`"),
    scope: Scope::Thread,
    when: When::Live,
    here: "Less waiting on shared cores; on two cores it can starve the load tool and softirq threads.",
    nic: "Shorter tails.",
    source: "sched(7)",
    values: &["0", "1"],
    effect: Effect::Words("`chrt -p PID`; involuntary context switches in /proc/PID/status."),
    restore: Restore::Automatic,
    risk: "A spinning thread takes all but 5 % of its CPU (kernel.sched_rt_runtime_us).",
    applies: |_| Fit::Applies,
};
