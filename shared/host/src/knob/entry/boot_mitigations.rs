//! `boot.mitigations`: guards against CPU vulnerabilities.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "boot.mitigations",
    title: "guards against CPU vulnerabilities",
    site: Site::Boot("mitigations=auto|off"),
    scope: Scope::Boot,
    when: When::Reboot,
    here: "Programs with many system calls gain most from switching them off; a ring makes fewer.",
    nic: "28 % in one well-known log of an epoll server on an old kernel.",
    source: "kernel Documentation/admin-guide/hw-vuln",
    values: &[],
    effect: Effect::Words("/sys/devices/system/cpu/vulnerabilities."),
    restore: Restore::Reboot,
    risk: "Security. Report it, never switch it off for somebody else.",
    applies: |_| Fit::Applies,
};
