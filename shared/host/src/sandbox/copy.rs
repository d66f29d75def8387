//! Carrying the host's network settings into a new namespace.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::root::Root;
use crate::setting::{read_value, same_value, write_value};

/// Settings depend on one another (the low end of a range must stay below its high end), so what fails is tried again.
const PASSES: usize = 3;
/// Enough for every depth below /proc/sys/net; a bound all the same.
const MAX_DEPTH: usize = 8;
/// Secrets, seeds and orders: each namespace has its own, or writing does something instead of setting something.
const LEFT_ALONE: &[&str] =
    &["tcp_fastopen_key", "stable_secret", "fib_multipath_hash_seed", "netdev_rss_key", "flush"];
/// Settings of loopback itself, below /sys/class/net/lo.
const LOOPBACK: &[&str] = &["mtu", "queues/rx-0/rps_cpus", "queues/rx-0/rps_flow_cnt"];

/// A host's value that the namespace did not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting's file.
    pub path: PathBuf,
    /// The host's value.
    pub host: String,
    /// The value inside.
    pub inside: String,
    /// Why.
    pub reason: String,
}

/// The values of one namespace at one moment.
pub(super) struct Snapshot {
    values: Vec<(PathBuf, String)>,
}

impl Snapshot {
    /// Reads every setting that could be written.
    pub(super) fn take(root: &Root) -> Self {
        let mut files = Vec::new();
        collect(&root.sysctl("net"), MAX_DEPTH, &mut files);
        files.extend(LOOPBACK.iter().map(|name| root.device("lo").join(name)));
        files.sort_by_key(|path| (!resets_others(path), path.clone()));
        let readable = |path: PathBuf| read_value(&path).ok().map(|value| (path, value));
        Self { values: files.into_iter().filter_map(readable).collect() }
    }

    /// Writes what differs; answers what stayed different. A setting that doesn't exist inside is the whole machine's
    /// and needs no copy.
    pub(super) fn write(&self) -> Vec<Difference> {
        let mut left = Vec::new();
        for _ in 0..PASSES {
            left = self.values.iter().filter_map(|(path, host)| write_one(path, host)).collect();
            if left.is_empty() {
                break;
            }
        }
        left
    }
}

/// Switching forwarding changes the settings of every device (ip-sysctl): it comes first.
fn resets_others(path: &Path) -> bool {
    path.ends_with("ip_forward") || path.ends_with("forwarding")
}

fn write_one(path: &Path, host: &str) -> Option<Difference> {
    let before = read_value(path).ok()?;
    if same_value(&before, host) {
        return None;
    }
    let refused = write_value(path, host).err().map(|error| error.to_string());
    let inside = read_value(path).unwrap_or(before);
    if same_value(&inside, host) {
        return None;
    }
    let reason = refused.unwrap_or_else(|| "the kernel keeps another value".to_owned());
    Some(Difference { path: path.to_path_buf(), host: host.to_owned(), inside, reason })
}

fn collect(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(listing) = std::fs::read_dir(directory) else { return };
    for entry in listing.filter_map(Result::ok) {
        let path = entry.path();
        let left_alone = LEFT_ALONE.iter().any(|name| path.ends_with(name));
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() && depth > 0 => collect(&path, depth - 1, files),
            Ok(metadata) if metadata.is_file() && is_setting(&metadata) && !left_alone => files.push(path),
            _ => {}
        }
    }
}

/// Readable and writable for its owner: what can only be read is a fact, what can only be written an order.
fn is_setting(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o600 == 0o600
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeRoot;

    #[test]
    fn settings_are_read_and_facts_orders_and_secrets_left_alone() {
        let fake = FakeRoot::new("snapshot");
        for (file, mode) in [
            ("net/ipv4/tcp_sack", 0o644),
            ("net/ipv4/ip_forward", 0o644),
            ("net/core/somaxconn", 0o644),
            ("net/ipv4/tcp_fastopen_key", 0o600),
            ("net/ipv4/tcp_available_congestion_control", 0o444),
            ("net/ipv4/route/flush", 0o200),
            ("kernel/numa_balancing", 0o644),
        ] {
            fake.put(&format!("proc/sys/{file}"), "1\n");
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(fake.path(&format!("proc/sys/{file}")), permissions).expect("chmod");
        }
        fake.put("sys/class/net/lo/mtu", "65536\n");
        let names: Vec<_> = Snapshot::take(&fake.root).values.into_iter().map(|(path, _)| path).collect();
        let expected = ["proc/sys/net/ipv4/ip_forward", "proc/sys/net/core/somaxconn", "proc/sys/net/ipv4/tcp_sack"];
        let mut expected: Vec<_> = expected.iter().map(|file| fake.path(file)).collect();
        expected.push(fake.path("sys/class/net/lo/mtu"));
        assert_eq!(names, expected);
    }

    #[test]
    fn differing_values_are_written_and_absent_ones_are_the_machines() {
        let fake = FakeRoot::new("copy");
        fake.put("proc/sys/net/ipv4/tcp_sack", "1\n");
        fake.put("proc/sys/net/core/busy_poll", "50\n");
        let snapshot = Snapshot::take(&fake.root);
        fake.put("proc/sys/net/ipv4/tcp_sack", "0\n");
        std::fs::remove_file(fake.path("proc/sys/net/core/busy_poll")).expect("rm");
        assert_eq!(snapshot.write(), []);
        assert_eq!(fake.get("proc/sys/net/ipv4/tcp_sack"), "1");
        assert!(!fake.path("proc/sys/net/core/busy_poll").exists());
    }
}
