//! `ipv4.tcp_sack`: selective acknowledgements.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, TcpOption, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_sack",
    title: "selective acknowledgements",
    site: Site::Sysctl("net/ipv4/tcp_sack"),
    scope: Scope::Namespace,
    when: When::New,
    here: "About 0 without loss: no segment carries the option after the handshake. Measured inside the noise (0.97).",
    nic: "Off is bad under loss.",
    source: "kernel Documentation/networking/ip-sysctl; RFC 2018",
    values: &["0", "1"],
    effect: Effect::Negotiated(TcpOption::Sack),
    restore: Restore::WriteBack,
    risk: "Recovery from loss takes several round trips longer.",
    applies: |_| Fit::Applies,
};
