//! `core.somaxconn`: the largest accept queue of a listener.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "core.somaxconn",
    title: "the largest accept queue of a listener",
    site: Site::Sysctl("net/core/somaxconn"),
    scope: Scope::Namespace,
    when: When::New,
    here: "Nothing for kept connections. When many connect at once, a longer queue saves refused SYNs and their \
         retries of 1 and 3 s.",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/sysctl/net (4096 since 5.4)",
    values: &["128", "4096", "65535"],
    effect: Effect::Counter { name: "ListenOverflows", expect: "stays 0 while connections arrive in a burst" },
    restore: Restore::WriteBack,
    risk: "The queue is the smaller of this and what listen(2) was given: restart the server after a change.",
    applies: |_| Fit::Applies,
};
