//! `ipv4.ip_local_reserved_ports`: ports that connecting sockets leave alone.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.ip_local_reserved_ports",
    title: "ports that connecting sockets leave alone",
    site: Site::Sysctl("net/ipv4/ip_local_reserved_ports"),
    scope: Scope::Namespace,
    when: When::Live,
    here: "No speed; keeps a server's port free when the range is wide.",
    nic: "The same.",
    source: "kernel Documentation/networking/ip-sysctl",
    values: &["8080"],
    effect: Effect::Words("No outgoing connection has a reserved source port (ss -tn)."),
    restore: Restore::WriteBack,
    risk: "A long list slows the search for a free port a little.",
    applies: |_| Fit::Applies,
};
