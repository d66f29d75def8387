//! `sock.send_zc`: send without copying.

use crate::knob::{Effect, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "sock.send_zc",
    title: "send without copying",
    site: Site::Socket("SO_ZEROCOPY with MSG_ZEROCOPY, or IORING_OP_SEND_ZC"),
    scope: Scope::Socket,
    when: When::Live,
    here: "A loss: on loopback the kernel always copies, and a second completion comes on top.",
    nic: "Wins above about 10 KB.",
    source: "kernel Documentation/networking/msg_zerocopy",
    values: &["0", "1"],
    effect: Effect::Words("The notification says whether it was copied (IORING_SEND_ZC_REPORT_USAGE)."),
    restore: Restore::Automatic,
    risk: "Memory stays in use until the peer has acknowledged.",
    applies: |at| at.not_on_loopback("on loopback the kernel copies zero-copy sends too, and notifies on top"),
};
