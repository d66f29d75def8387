//! `unix.max_dgram_qlen`: datagrams that wait in a unix datagram socket.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "unix.max_dgram_qlen",
    title: "datagrams that wait in a unix datagram socket",
    site: Site::Sysctl("net/unix/max_dgram_qlen"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Nothing: HTTP over TCP uses no unix datagrams. Kept as a negative control: an experiment that finds a \
         difference here is broken.",
    nic: "Nothing.",
    source: "unix(7); write-up W3 sets 100",
    values: &["10", "100", "512"],
    effect: Effect::Words("A unix datagram socket blocks after this many unread datagrams; TCP has no use for it."),
    restore: Restore::WriteBack,
    risk: "Large values let one slow reader hold much memory.",
    applies: |_| Fit::no_effect("it bounds AF_UNIX datagram sockets; HTTP runs over streams"),
};
