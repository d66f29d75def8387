//! `nofile`: open files of a process (ulimit -n).

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "nofile",
    title: "open files of a process (ulimit -n)",
    site: Site::NoFile,
    scope: Scope::Thread,
    when: When::New,
    here: "No speed at all, but too low a limit turns connections away: a correctness setting. It also bounds a \
         ring's table of direct descriptors.",
    nic: "The same.",
    source: "getrlimit(2); write-up W3 sets 100000",
    values: &["1024", "100000", "1048576"],
    effect: Effect::NoFile,
    restore: Restore::Automatic,
    risk: "Values above fs.nr_open are refused; raising the hard limit needs CAP_SYS_RESOURCE.",
    applies: |_| Fit::Applies,
};
