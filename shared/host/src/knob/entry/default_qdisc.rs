//! `core.default_qdisc`: the queueing discipline of new devices.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.default_qdisc",
    title: "the queueing discipline of new devices",
    site: Site::Sysctl("net/core/default_qdisc"),
    scope: Scope::Host,
    when: When::New,
    here: "Nothing: loopback and veth have no queue whatever is written here.",
    nic: "fq lets the kernel pace bbr; takes effect for devices made afterwards.",
    source: "kernel Documentation/admin-guide/sysctl/net",
    values: &["pfifo_fast", "fq", "fq_codel"],
    effect: Effect::Words("`tc qdisc show dev DEV` on a device made afterwards."),
    restore: Restore::WriteBack,
    risk: "None for existing devices; those need `tc qdisc replace`.",
    applies: |at| at.not_on_loopback("loopback is made without a queue whatever is written here"),
};
