//! Where a knob is set, and which files that means on this machine.

use std::path::{Path, PathBuf};

use crate::root::Root;

/// Where a knob is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// A file below /proc/sys, named with slashes.
    Sysctl(&'static str),
    /// A file below /sys. A `*` ends one directory's name and stands for all that begin so: one value goes to every CPU.
    Sys(&'static str),
    /// A file below /sys/class/net/DEVICE, with a `*` likewise: one value goes to every queue.
    Device(&'static str),
    /// A device below /dev that keeps the value for as long as it is held open.
    Hold(&'static str),
    /// The soft limit of open files, setrlimit(2).
    NoFile,
    /// A socket option: the program that owns the socket sets it.
    Socket(&'static str),
    /// A system call that a thread makes for itself.
    Call(&'static str),
    /// Another program sets it: the command line, and the one that undoes it.
    Command {
        /// With capitals where a name or a value goes.
        set: &'static str,
        /// Likewise.
        undo: &'static str,
    },
    /// A word on the kernel's command line.
    Boot(&'static str),
    /// It exists no more.
    Removed {
        /// The path that write-ups still name.
        path: &'static str,
        /// The first kernel without it.
        since: &'static str,
    },
}

impl Site {
    /// Whether this tool can set it, given the right.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        matches!(self, Self::Sysctl(_) | Self::Sys(_) | Self::Device(_) | Self::Hold(_) | Self::NoFile)
    }

    /// The files that hold the value for traffic on `device`; empty when there are none.
    #[must_use]
    pub fn files(&self, root: &Root, device: &str) -> Vec<PathBuf> {
        let file = match self {
            Self::Sysctl(name) => root.sysctl(name),
            Self::Sys(pattern) => return expand(&root.sys, pattern),
            Self::Hold(name) => root.dev.join(name),
            Self::Device(pattern) => return expand(&root.device(device), pattern),
            _ => return Vec::new(),
        };
        if file.exists() { vec![file] } else { Vec::new() }
    }

    /// The place in words, as an administrator would write it.
    #[must_use]
    pub fn describe(&self, device: &str) -> String {
        match self {
            Self::Sysctl(name) => format!("/proc/sys/{name}"),
            Self::Sys(name) => format!("/sys/{name}"),
            Self::Device(pattern) => format!("/sys/class/net/{device}/{pattern}"),
            Self::Hold(name) => format!("/dev/{name} (held open)"),
            Self::NoFile => "setrlimit(RLIMIT_NOFILE)".to_owned(),
            Self::Socket(option) => format!("setsockopt({option})"),
            Self::Call(call) => (*call).to_owned(),
            Self::Command { set, .. } => format!("`{set}`"),
            Self::Boot(word) => format!("kernel command line: {word}"),
            Self::Removed { path, since } => format!("{path} (removed in Linux {since})"),
        }
    }
}

/// All files below `directory` that fit a pattern with at most one star a part, in the order of their names.
fn expand(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![directory.to_path_buf()];
    for part in pattern.split('/') {
        found = match part.strip_suffix('*') {
            None => found.into_iter().map(|base| base.join(part)).filter(|path| path.exists()).collect(),
            Some(prefix) => found.iter().flat_map(|base| entries(base, prefix)).collect(),
        };
    }
    found
}

fn entries(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = listing
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeRoot;

    #[test]
    fn a_star_means_every_queue_and_no_other_directory() {
        let fake = FakeRoot::new("site");
        for file in ["queues/rx-0/rps_cpus", "queues/rx-1/rps_cpus", "queues/tx-0/xps_cpus"] {
            fake.put(&format!("sys/class/net/eth0/{file}"), "0\n");
        }
        fake.put("proc/sys/net/ipv4/tcp_sack", "1\n");
        let cases = [
            (Site::Device("queues/rx-*/rps_cpus"), "eth0", 2),
            (Site::Device("queues/tx-*/xps_cpus"), "eth0", 1),
            (Site::Device("queues/tx-*/rps_cpus"), "eth0", 0),
            (Site::Device("queues/rx-*/rps_cpus"), "lo", 0),
            (Site::Sysctl("net/ipv4/tcp_sack"), "lo", 1),
            (Site::Sysctl("net/ipv4/tcp_fack"), "lo", 0),
            (Site::NoFile, "lo", 0),
        ];
        for (site, device, expected) in cases {
            let files = site.files(&fake.root, device);
            assert_eq!(files.len(), expected, "{site:?} on {device}: {files:?}");
            assert!(files.is_sorted() && files.iter().all(|file| file.is_file()));
        }
    }
}
