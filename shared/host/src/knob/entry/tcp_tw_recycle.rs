//! `ipv4.tcp_tw_recycle`: fast recycling of TIME_WAIT sockets.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "ipv4.tcp_tw_recycle",
    title: "fast recycling of TIME_WAIT sockets",
    site: Site::Removed { path: "/proc/sys/net/ipv4/tcp_tw_recycle", since: "4.12" },
    scope: Scope::Namespace,
    when: When::Never,
    here: "Nothing: the file is gone.",
    nic: "Nothing: the file is gone.",
    source: "commit 4396e46187ca; write-up W3 sets 1",
    values: &[],
    effect: Effect::Words("There is nothing to prove."),
    restore: Restore::Nothing,
    risk: "On kernels that still have it, clients behind one address translator are refused at random.",
    applies: |_| {
        Fit::no_effect(
            "it dropped connections from behind address translation, and for everyone once time stamps got random \
         offsets; tcp_tw_reuse is what is left, for the connecting side",
        )
    },
};
