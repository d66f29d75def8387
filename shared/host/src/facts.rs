//! What a figure was measured on. Part of every report: a rate without the machine means nothing.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::affinity::{self, CpuList};
use crate::cgroup;
use crate::limits;

/// Facts about the machine and the limits of this process. A fact that can't be found out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// Instruction set: `x86_64`, `aarch64`.
    pub arch: Option<String>,
    /// Name of the CPU.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus: Option<usize>,
    /// CPUs that this process may run on.
    pub allowed_cpus: Option<CpuList>,
    /// CPUs' worth of time that the cgroup may use; `None` when it isn't limited.
    pub cpu_quota: Option<f64>,
    /// Whether two hardware threads share a core.
    pub smt_active: Option<bool>,
    /// Frequency governor of CPU 0; virtual machines mostly have none.
    pub governor: Option<String>,
    /// What the kernel reads the time from.
    pub clocksource: Option<String>,
    /// Whether this is a virtual machine (the CPU says so).
    pub hypervisor: Option<bool>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Congestion control of new TCP connections.
    pub congestion_control: Option<String>,
    /// The kernel's cap on the backlog of a listener.
    pub somaxconn: Option<u64>,
    /// Weaknesses of the CPU against which the kernel spends time, and those that it leaves open.
    pub mitigations: Option<Mitigations>,
    /// Open files, soft limit.
    pub nofile_soft: Option<u64>,
    /// Open files, hard limit.
    pub nofile_hard: Option<u64>,
    /// Locked memory in bytes, soft limit.
    pub memlock_bytes: Option<u64>,
    /// `kernel.io_uring_disabled`: 0 for all, 1 only with privileges, 2 not at all.
    pub io_uring_disabled: Option<u64>,
}

/// The kernel's own list, by what it does about each (`/sys/devices/system/cpu/vulnerabilities`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mitigations {
    /// The kernel works around these, which costs time on every entry.
    pub mitigated: Vec<String>,
    /// The CPU is affected and the kernel does nothing.
    pub vulnerable: Vec<String>,
}

impl Facts {
    /// Looks at this machine. Never fails: what can't be read is left out.
    #[must_use]
    pub fn read() -> Self {
        let (nofile, memlock) = (limits::nofile(), limits::memlock_bytes());
        Self {
            arch: Some(std::env::consts::ARCH.to_owned()),
            allowed_cpus: affinity::allowed_cpus().ok(),
            nofile_soft: finite(nofile.soft),
            nofile_hard: finite(nofile.hard),
            memlock_bytes: finite(memlock.soft),
            ..Self::read_files(Path::new("/"))
        }
    }

    /// The facts that are files, with `root` for `/`.
    fn read_files(root: &Path) -> Self {
        let line = |path: &str| first_line(&root.join(path));
        let number = |path: &str| line(path)?.parse().ok();
        let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
        let online = line("sys/devices/system/cpu/online").and_then(|list| list.parse::<CpuList>().ok());
        Self {
            kernel: line("proc/sys/kernel/osrelease"),
            cpu_model: cpuinfo_value(&cpuinfo, "model name").map(str::to_owned),
            cpus: online.map(|list| list.0.len()),
            cpu_quota: cgroup::cpu_quota(root),
            smt_active: line("sys/devices/system/cpu/smt/active").map(|active| active == "1"),
            governor: line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clocksource: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            hypervisor: cpuinfo_value(&cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: memory_bytes(&root.join("proc/meminfo")),
            congestion_control: line("proc/sys/net/ipv4/tcp_congestion_control"),
            somaxconn: number("proc/sys/net/core/somaxconn"),
            mitigations: mitigations(&root.join("sys/devices/system/cpu/vulnerabilities")),
            io_uring_disabled: number("proc/sys/kernel/io_uring_disabled"),
            ..Self::default()
        }
    }
}

fn finite(limit: u64) -> Option<u64> {
    (limit != u64::MAX).then_some(limit)
}

fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

fn cpuinfo_value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

fn memory_bytes(path: &Path) -> Option<u64> {
    let total = first_line(path)?;
    let kib: u64 = total.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

fn mitigations(dir: &Path) -> Option<Mitigations> {
    let mut found = Mitigations::default();
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let Some(state) = first_line(&entry.path()) else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        if state.starts_with("Mitigation") {
            found.mitigated.push(name);
        } else if state.starts_with("Vulnerable") {
            found.vulnerable.push(name);
        }
    }
    found.mitigated.sort_unstable();
    found.vulnerable.sort_unstable();
    Some(found)
}

impl fmt::Display for Facts {
    /// One compact line; what is not known is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            self.arch.clone(),
            self.cpus.map(|cpus| self.describe_cpus(cpus)),
            self.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))),
            self.hypervisor.filter(|&is_virtual| is_virtual).map(|_| "virtual machine".to_owned()),
            self.governor.as_ref().map(|governor| format!("governor {governor}")),
            self.congestion_control.as_ref().map(|name| format!("congestion control {name}")),
            self.mitigations
                .as_ref()
                .map(|list| format!("{} mitigations, {} open", list.mitigated.len(), list.vulnerable.len())),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl Facts {
    fn describe_cpus(&self, cpus: usize) -> String {
        let model = self.cpu_model.as_deref().unwrap_or("CPU");
        let mut text = format!("{cpus} x {model}");
        if let Some(allowed) = self.allowed_cpus.as_ref().filter(|allowed| allowed.0.len() < cpus) {
            text.push_str(&format!(" (allowed: {allowed})"));
        }
        if let Some(quota) = self.cpu_quota {
            text.push_str(&format!(" (quota: {quota} CPUs)"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tree;

    const FILES: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "6.18.1\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu hypervisor sse2\n\nprocessor\t: 1\n"),
        ("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n"),
        ("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable: no microcode\n"),
        ("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n"),
        ("proc/sys/net/core/somaxconn", "4096\n"),
        ("proc/sys/kernel/io_uring_disabled", "1\n"),
    ];

    #[test]
    fn facts_are_read_from_files() {
        let facts = Facts::read_files(tree(FILES).path());
        let expected = Facts {
            kernel: Some("6.18.1".to_owned()),
            cpu_model: Some("Fast CPU".to_owned()),
            cpus: Some(4),
            smt_active: Some(true),
            hypervisor: Some(true),
            memory_bytes: Some(8 << 30),
            congestion_control: Some("bbr".to_owned()),
            somaxconn: Some(4096),
            mitigations: Some(Mitigations {
                mitigated: vec!["spectre_v2".to_owned()],
                vulnerable: vec!["mds".to_owned()],
            }),
            io_uring_disabled: Some(1),
            ..Facts::default()
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn an_empty_machine_has_no_facts() {
        let facts = Facts::read_files(tree(&[]).path());
        assert_eq!(facts, Facts::default());
        assert_eq!(facts.to_string(), "");
    }

    #[test]
    fn one_line_says_what_matters() {
        let mut facts = Facts::read_files(tree(FILES).path());
        facts.allowed_cpus = Some(CpuList(vec![0, 1]));
        facts.cpu_quota = Some(1.5);
        assert_eq!(
            facts.to_string(),
            "Linux 6.18.1, 4 x Fast CPU (allowed: 0-1) (quota: 1.5 CPUs), 8.0 GiB, virtual machine, congestion control bbr, \
             1 mitigations, 1 open"
        );
    }

    #[test]
    fn facts_survive_json() {
        let facts = Facts::read();
        assert!(facts.kernel.is_some() && facts.cpus.is_some() && facts.allowed_cpus.is_some());
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    }
}
