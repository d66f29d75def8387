//! `nf.packet_taps`: programs that listen to packets (tcpdump, DHCP clients).

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "nf.packet_taps",
    title: "programs that listen to packets (tcpdump, DHCP clients)",
    site: Site::Command { set: "kill the listener that /proc/net/packet shows", undo: "start it again" },
    scope: Scope::Host,
    when: When::Live,
    here: "A copy of every packet when the tap is on all devices.",
    nic: "The same; 6 % in one well-known tuning log.",
    source: "packet(7)",
    values: &[],
    effect: Effect::Words("/proc/net/packet has no line below its header."),
    restore: Restore::Nothing,
    risk: "Without its DHCP client the machine loses its address in time.",
    applies: |at| at.only_if_tapped(),
};
