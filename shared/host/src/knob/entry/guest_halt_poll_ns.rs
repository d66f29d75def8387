//! `haltpoll.guest_halt_poll_ns`: how long a virtual CPU spins before it halts.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "haltpoll.guest_halt_poll_ns",
    title: "how long a virtual CPU spins before it halts",
    site: Site::Sys("module/haltpoll/parameters/guest_halt_poll_ns"),
    scope: Scope::Host,
    when: When::Live,
    here: "In a virtual machine: saves an exit to the hypervisor on wake-ups between CPUs. First candidate where it \
         is 0.",
    nic: "The same.",
    source: "kernel Documentation/virt/guest-halt-polling",
    values: &["0", "50000", "200000"],
    effect: Effect::Words("Latency of one connection at low load; steal of the neighbours."),
    restore: Restore::WriteBack,
    risk: "Spins instead of sleeping: CPU figures of the host rise.",
    applies: |at| at.only_if_virtual(),
};
