//! `vm.nr_hugepages`: huge pages set aside.

use crate::knob::{Effect, Fit, Knob, Restore, Scope, Site, When};

pub(super) const KNOB: Knob = Knob {
    id: "vm.nr_hugepages",
    title: "huge pages set aside",
    site: Site::Sysctl("vm/nr_hugepages"),
    scope: Scope::Host,
    when: When::Live,
    here: "Nothing until a program maps them (MAP_HUGETLB).",
    nic: "The same.",
    source: "kernel Documentation/admin-guide/mm/hugetlbpage",
    values: &["0", "64"],
    effect: Effect::Words("HugePages_Total and _Free in /proc/meminfo."),
    restore: Restore::WriteBack,
    risk: "Memory is gone for everyone else.",
    applies: |_| Fit::Applies,
};
