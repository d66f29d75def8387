//! `dev.mtu`: the largest packet of the device.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "dev.mtu",
    title: "the largest packet of the device",
    site: Site::Device("mtu"),
    scope: Scope::Device,
    when: When::Live,
    here: "0 for small answers; 1500 makes bodies segment as on a wire.",
    nic: "Set by the network, not by taste.",
    source: "ip-link(8) (loopback starts with 65536)",
    values: &["65536", "1500"],
    effect: Effect::Mss,
    restore: Restore::WriteBack,
    risk: "Both ends and all between must agree.",
    applies: |_| Fit::Applies,
};
