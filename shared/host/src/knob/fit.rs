//! Whether a knob can matter here, and if not, why not.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::knob::{Knob, Site};
use crate::root::Root;

/// Where a knob is to be judged or applied.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The machine.
    pub root: &'a Root,
    /// The network device that carries the traffic.
    pub device: &'a str,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It can matter: worth an experiment.
    Applies,
    /// It can be set, and cannot change anything for this traffic. An experiment may use it as a negative control.
    NoEffect(String),
    /// It can't be set here.
    Skipped(Skip),
}

/// Why a knob can't be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// This kernel, or this namespace, doesn't have it.
    Absent(String),
    /// It can be read only.
    ReadOnly(PathBuf),
    /// The kernel refuses the caller.
    Refused {
        /// What was to be written.
        path: PathBuf,
        /// What the kernel said.
        error: String,
    },
    /// It was taken out of Linux.
    Removed {
        /// The first kernel without it.
        since: &'static str,
        /// Why it went, and what to do instead.
        note: String,
    },
    /// It is chosen at boot.
    Boot(&'static str),
    /// The program itself chooses it, or another tool must: the place in words.
    Elsewhere(String),
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(place) => write!(f, "not in this kernel or namespace: {place}"),
            Self::ReadOnly(path) => write!(f, "read-only: {}", path.display()),
            Self::Refused { path, error } => write!(f, "refused: {}: {error}", path.display()),
            Self::Removed { since, note } => write!(f, "removed in Linux {since}: {note}"),
            Self::Boot(word) => write!(f, "chosen at boot by {word}; never changed by this tool"),
            Self::Elsewhere(place) => write!(f, "set by {place}"),
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applies => f.write_str("applies"),
            Self::NoEffect(reason) => write!(f, "no effect: {reason}"),
            Self::Skipped(skip) => write!(f, "skipped: {skip}"),
        }
    }
}

impl Fit {
    /// One word for a table.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Applies => "applies",
            Self::NoEffect(_) => "no effect",
            Self::Skipped(_) => "skipped",
        }
    }

    /// The reason, empty when there is none to give.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Applies => String::new(),
            Self::NoEffect(reason) => reason.clone(),
            Self::Skipped(skip) => skip.to_string(),
        }
    }

    /// [`Fit::NoEffect`] from a literal.
    #[must_use]
    pub fn no_effect(reason: &str) -> Self {
        Self::NoEffect(reason.to_owned())
    }
}

impl At<'_> {
    /// Whether the traffic stays on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.device == "lo"
    }

    /// No effect on loopback for this reason, else it applies.
    #[must_use]
    pub fn not_on_loopback(&self, reason: &str) -> Fit {
        if self.is_loopback() { Fit::no_effect(reason) } else { Fit::Applies }
    }

    /// No effect unless a counter of TCP (/proc/net/netstat) has moved since boot or in this namespace.
    #[must_use]
    pub fn only_if_counted(&self, name: &str, reason: &str) -> Fit {
        let count = crate::counters::read(&self.root.proc, name).unwrap_or(0);
        if count > 0 { Fit::Applies } else { Fit::NoEffect(format!("{reason} ({name} is 0)")) }
    }

    /// Whether this is a virtual machine, as far as the CPU tells.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        let cpuinfo = Root::read(&self.root.proc.join("cpuinfo")).unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    /// No effect unless softirq rounds have ended with work left over since boot.
    #[must_use]
    pub fn only_if_squeezed(&self) -> Fit {
        self.only_if_softnet(2, "no softirq round has ended early since boot (column 3 of softnet_stat is 0)")
    }

    /// No effect unless a CPU's backlog has been full since boot.
    #[must_use]
    pub fn only_if_backlog_dropped(&self) -> Fit {
        self.only_if_softnet(
            1,
            "no packet has been dropped at a full backlog since boot (column 2 of softnet_stat is 0)",
        )
    }

    /// `column` counts from 0; one line a CPU, all numbers in hexadecimal.
    fn only_if_softnet(&self, column: usize, reason: &str) -> Fit {
        let text = Root::read(&self.root.proc.join("net/softnet_stat")).unwrap_or_default();
        let count = |line: &str| {
            line.split_whitespace().nth(column).and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0)
        };
        if text.lines().any(|line| count(line) > 0) { Fit::Applies } else { Fit::no_effect(reason) }
    }

    /// No effect when nobody listens to packets.
    #[must_use]
    pub fn only_if_tapped(&self) -> Fit {
        let sockets = Root::read(&self.root.proc.join("net/packet")).unwrap_or_default();
        let tapped = sockets.lines().nth(1).is_some();
        if tapped { Fit::Applies } else { Fit::no_effect("nobody listens to packets: /proc/net/packet is empty") }
    }

    /// No effect with one memory node.
    #[must_use]
    pub fn only_with_several_nodes(&self) -> Fit {
        if self.nodes() > 1 { Fit::Applies } else { Fit::no_effect("the machine has one memory node") }
    }

    /// No effect outside a virtual machine.
    #[must_use]
    pub fn only_if_virtual(&self) -> Fit {
        if self.is_virtual() {
            Fit::Applies
        } else {
            Fit::no_effect("this is no virtual machine, as far as the CPU tells")
        }
    }

    /// Memory nodes of the machine; at least 1.
    fn nodes(&self) -> usize {
        let listing = std::fs::read_dir(self.root.sys.join("devices/system/node"));
        let is_node = |name: &str| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
        let count = listing.map(|entries| {
            entries.filter_map(Result::ok).filter(|entry| is_node(&entry.file_name().to_string_lossy())).count()
        });
        count.unwrap_or(1).max(1)
    }
}

impl Knob {
    /// Whether the knob can matter there: it must exist, be writable for the caller, and have something to act upon.
    ///
    /// A reason why it cannot matter is given before a reason why it cannot be set: it is the one worth knowing.
    #[must_use]
    pub fn fit(&self, at: &At<'_>) -> Fit {
        let judged = (self.applies)(at);
        match (judged, self.obstacle(at)) {
            (Fit::NoEffect(note), Some(Skip::Removed { since, .. })) => Fit::Skipped(Skip::Removed { since, note }),
            (Fit::Applies, Some(skip)) => Fit::Skipped(skip),
            (judged, _) => judged,
        }
    }

    /// What stands in the way of setting it, if anything does.
    #[must_use]
    pub fn obstacle(&self, at: &At<'_>) -> Option<Skip> {
        match self.site {
            Site::Sysctl(_) | Site::Sys(_) | Site::Device(_) | Site::Hold(_) => {
                let files = self.site.files(at.root, at.device);
                match files.first() {
                    None => Some(Skip::Absent(self.site.describe(at.device))),
                    Some(_) => files.iter().find_map(|file| write_obstacle(file)),
                }
            }
            Site::NoFile => None,
            Site::Socket(_) | Site::Call(_) | Site::Command { .. } => {
                Some(Skip::Elsewhere(self.site.describe(at.device)))
            }
            Site::Boot(word) => Some(Skip::Boot(word)),
            Site::Removed { since, .. } => Some(Skip::Removed { since, note: String::new() }),
        }
    }
}

/// The mode is looked at besides asking the kernel: root passes access(2) on files that proc and sysfs then won't write.
fn write_obstacle(path: &Path) -> Option<Skip> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    if mode & 0o222 == 0 {
        return Some(Skip::ReadOnly(path.to_path_buf()));
    }
    let access = rustix::fs::access(path, rustix::fs::Access::WRITE_OK);
    access.err().map(|errno| refusal(path, errno.into()))
}

/// What an error of opening or writing a knob means.
#[must_use]
pub fn refusal(path: &Path, error: std::io::Error) -> Skip {
    match error.kind() {
        std::io::ErrorKind::NotFound => Skip::Absent(path.display().to_string()),
        std::io::ErrorKind::ReadOnlyFilesystem => Skip::ReadOnly(path.to_path_buf()),
        _ => Skip::Refused { path: path.to_path_buf(), error: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::{ALL, find};
    use crate::testing::FakeRoot;

    /// id, device, files to make first, the word, and a piece of the reason.
    type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

    #[rustfmt::skip]
    const CASES: &[Case] = &[
        ("nofile", "lo", &[], "applies", ""),
        ("ipv4.tcp_sack", "lo", &[("proc/sys/net/ipv4/tcp_sack", "1")], "applies", ""),
        ("ipv4.tcp_sack", "lo", &[], "skipped", "not in this kernel or namespace: /proc/sys/net/ipv4/tcp_sack"),
        ("ipv4.tcp_tw_recycle", "lo", &[], "skipped", "removed in Linux 4.12: it dropped"),
        ("unix.max_dgram_qlen", "lo", &[("proc/sys/net/unix/max_dgram_qlen", "10")], "no effect", "AF_UNIX"),
        (
            "ipv4.tcp_fin_timeout",
            "eth0",
            &[
                ("proc/sys/net/ipv4/tcp_fin_timeout", "60"),
            ],
            "no effect",
            "not of TIME_WAIT",
        ),
        ("ipv4.tcp_low_latency", "eth0", &[], "no effect", "removed in Linux 4.14"),
        ("core.busy_poll", "lo", &[("proc/sys/net/core/busy_poll", "0")], "no effect", "no NAPI id"),
        ("core.busy_poll", "eth0", &[("proc/sys/net/core/busy_poll", "0")], "applies", ""),
        ("core.default_qdisc", "lo", &[("proc/sys/net/core/default_qdisc", "fq")], "no effect", "without a queue"),
        ("core.default_qdisc", "eth0", &[("proc/sys/net/core/default_qdisc", "fq")], "applies", ""),
        (
            "core.netdev_budget",
            "lo",
            &[
                ("proc/sys/net/core/netdev_budget", "300"),
                ("proc/net/softnet_stat", "0a 00 00\n0b 00 00\n"),
            ],
            "no effect",
            "column 3",
        ),
        (
            "core.netdev_budget",
            "lo",
            &[
                ("proc/sys/net/core/netdev_budget", "300"),
                ("proc/net/softnet_stat", "0a 00 00\n0b 00 1f\n"),
            ],
            "applies",
            "",
        ),
        (
            "core.netdev_max_backlog",
            "lo",
            &[
                ("proc/sys/net/core/netdev_max_backlog", "1000"),
                ("proc/net/softnet_stat", "0a 02 00\n"),
            ],
            "applies",
            "",
        ),
        (
            "ipv4.tcp_mem",
            "lo",
            &[
                ("proc/sys/net/ipv4/tcp_mem", "1 2 3"),
                ("proc/thread-self/net/netstat", "TcpExt: TCPMemoryPressures\nTcpExt: 4\n"),
            ],
            "applies",
            "",
        ),
        ("ipv4.tcp_mem", "lo", &[("proc/sys/net/ipv4/tcp_mem", "1 2 3")], "no effect", "TCPMemoryPressures is 0"),
        ("nf.packet_taps", "lo", &[("proc/net/packet", "sk RefCnt\n")], "no effect", "nobody listens"),
        ("nf.packet_taps", "lo", &[("proc/net/packet", "sk RefCnt\nffff 3\n")], "skipped", "kill the listener"),
        (
            "kernel.numa_balancing",
            "lo",
            &[
                ("proc/sys/kernel/numa_balancing", "1"),
                ("sys/devices/system/node/node0/x", ""),
            ],
            "no effect",
            "one memory node",
        ),
        (
            "kernel.numa_balancing",
            "lo",
            &[
                ("proc/sys/kernel/numa_balancing", "1"),
                ("sys/devices/system/node/node0/x", ""),
                ("sys/devices/system/node/node1/x", ""),
            ],
            "applies",
            "",
        ),
        (
            "haltpoll.guest_halt_poll_ns",
            "lo",
            &[
                ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "0"),
                ("proc/cpuinfo", "flags\t: fpu hypervisor sse\n"),
            ],
            "applies",
            "",
        ),
        (
            "haltpoll.guest_halt_poll_ns",
            "lo",
            &[
                ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "0"),
                ("proc/cpuinfo", "flags\t: fpu sse\n"),
            ],
            "no effect",
            "no virtual machine",
        ),
        ("dev.rps_cpus", "lo", &[("sys/class/net/lo/queues/rx-0/rps_cpus", "0")], "applies", ""),
        (
            "dev.rps_cpus",
            "eth0",
            &[
                ("sys/class/net/lo/queues/rx-0/rps_cpus", "0"),
            ],
            "skipped",
            "/sys/class/net/eth0/queues/rx-*/rps_cpus",
        ),
        (
            "cpu.governor",
            "lo",
            &[
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
                ("sys/devices/system/cpu/cpufreq/boost", "1"),
            ],
            "applies",
            "",
        ),
        ("sock.tcp_nodelay", "lo", &[], "skipped", "set by setsockopt(TCP_NODELAY)"),
        ("boot.mitigations", "lo", &[], "skipped", "chosen at boot by mitigations=auto|off"),
    ];

    #[test]
    fn each_knob_says_whether_it_can_matter_and_why_not() {
        for (id, device, files, word, reason) in CASES {
            let fake = FakeRoot::new("fit");
            for (file, contents) in *files {
                fake.put(file, contents);
            }
            let fit = find(id).expect(id).fit(&At { root: &fake.root, device });
            assert_eq!(fit.word(), *word, "{id} on {device}: {fit}");
            assert!(fit.reason().contains(reason), "{id} on {device}: {fit} does not say {reason:?}");
        }
    }

    #[test]
    fn a_file_that_nobody_may_write_is_skipped() {
        use std::os::unix::fs::PermissionsExt as _;
        let fake = FakeRoot::new("read-only");
        fake.put("proc/sys/net/ipv4/tcp_sack", "1");
        let path = fake.path("proc/sys/net/ipv4/tcp_sack");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("chmod");
        let fit = find("ipv4.tcp_sack").expect("known").fit(&At { root: &fake.root, device: "lo" });
        assert_eq!(fit, Fit::Skipped(Skip::ReadOnly(path)));
    }

    #[test]
    fn on_an_empty_machine_nothing_applies_and_all_give_a_reason() {
        let fake = FakeRoot::new("empty");
        for knob in ALL.iter().filter(|knob| knob.id != "nofile") {
            let fit = knob.fit(&At { root: &fake.root, device: "lo" });
            assert_ne!(fit, Fit::Applies, "{}", knob.id);
            assert!(fit.reason().len() > 10, "{}: {fit}", knob.id);
        }
    }
}
