//! `sock.reuseport_steering`: which listener of a group gets a connection.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.reuseport_steering",
    title: "which listener of a group gets a connection",
    site: Site::Socket("SO_REUSEPORT with SO_ATTACH_REUSEPORT_CBPF, or SO_INCOMING_CPU"),
    scope: Scope::Socket,
    when: When::New,
    here: "Large for the spread between runs: a hash deals 64 connections 36 to 28 as a matter of course. By CPU each \
         connection stays on the core of its client.",
    nic: "Locality.",
    source: "socket(7); measured: 100 of 100 connections of a pinned thread reached their core's listener",
    values: &["hash", "cpu"],
    effect: Effect::Words("getsockopt(SO_INCOMING_CPU) of accepted sockets; connections a worker."),
    restore: Restore::Automatic,
    risk: "Listeners must be opened in CPU order.",
    applies: |_| Fit::Applies,
};
