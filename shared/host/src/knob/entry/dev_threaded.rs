//! `dev.threaded`: poll the device in a thread of its own.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.threaded",
    title: "poll the device in a thread of its own",
    site: Site::Device("threaded"),
    scope: Scope::Device,
    when: When::Live,
    here: "Refused: loopback has no NAPI of its own.",
    nic: "Moves softirq work into a thread that can be pinned and seen.",
    source: "kernel Documentation/networking/napi (tried: veth takes it only with GRO on)",
    values: &["0", "1"],
    effect: Effect::Words("Threads named napi/DEV-N appear and use CPU."),
    restore: Restore::WriteBack,
    risk: "One switch more a batch.",
    applies: |at| at.not_on_loopback("loopback has no NAPI of its own; the kernel answers EOPNOTSUPP"),
};
