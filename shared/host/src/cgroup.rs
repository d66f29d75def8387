//! The quota of CPU time that a cgroup sets (`cgroups(7)`; the kernel's `admin-guide/cgroup-v2` and `scheduler/sched-bwc`).
//!
//! `/proc/self/cgroup` names the cgroup, `/proc/self/mountinfo` says where its hierarchy is mounted and from which cgroup that
//! mount starts. Inside a container without a cgroup namespace the two share a prefix, which the mount doesn't show.

use std::fs;
use std::path::{Path, PathBuf};

/// The tightest quota of CPU time, in CPUs, from the cgroup of this process up to the root; `None` when nothing limits it.
/// `root` stands for `/`.
pub(crate) fn cpu_quota(root: &Path) -> Option<f64> {
    let memberships = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
    memberships.lines().filter_map(|line| quota_of(root, line, &mounts)).reduce(f64::min)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// A mounted hierarchy that can hold the CPU controller.
struct Mount<'a> {
    version: Version,
    /// The cgroup that shows up at `point`.
    starts_at: &'a Path,
    point: &'a Path,
}

impl<'a> Mount<'a> {
    /// One line of `mountinfo` (`proc_pid_mountinfo(5)`): id, parent, major:minor, root, mount point, options, optional fields
    /// up to a lone `-`, type, source, super options.
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, fs) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (starts_at, point) = (Path::new(mount.next()?), Path::new(mount.next()?));
        let mut fs = fs.split(' ');
        let version = match fs.next()? {
            "cgroup2" => Version::V2,
            "cgroup" if fs.nth(1)?.split(',').any(|option| option == "cpu") => Version::V1,
            _ => return None,
        };
        Some(Self { version, starts_at, point })
    }
}

/// The quota for one line of `/proc/self/cgroup`: `id:controllers:path`, with id 0 and no controllers for v2.
fn quota_of(root: &Path, membership: &str, mounts: &[Mount<'_>]) -> Option<f64> {
    let mut fields = membership.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, Path::new(fields.next()?));
    let version = match controllers {
        "" => Version::V2,
        list if list.split(',').any(|controller| controller == "cpu") => Version::V1,
        _ => return None,
    };
    let mount = mounts.iter().find(|mount| mount.version == version)?;
    // A path outside of the mount (another namespace's) can't be looked at; the mount's own cgroup is the nearest.
    let below = path.strip_prefix(mount.starts_at).unwrap_or(Path::new(""));
    let top = inside(root, mount.point);
    let bottom = top.join(below);
    let levels = bottom.ancestors().take_while(|dir| dir.starts_with(&top));
    levels.filter_map(|dir| level_quota(dir, version)).reduce(f64::min)
}

fn inside(root: &Path, absolute: &Path) -> PathBuf {
    root.join(absolute.strip_prefix("/").unwrap_or(absolute))
}

fn level_quota(dir: &Path, version: Version) -> Option<f64> {
    let read = |name| fs::read_to_string(dir.join(name)).ok();
    let (quota_us, period_us) = match version {
        Version::V2 => {
            // "max 100000" or "150000 100000".
            let text = read("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
        }
        // -1 stands for no limit.
        Version::V1 => {
            (read("cpu.cfs_quota_us")?.trim().parse().ok()?, read("cpu.cfs_period_us")?.trim().parse().ok()?)
        }
    };
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tree;

    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                            32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    /// The quota in a tree with these memberships, mounts and other files.
    #[track_caller]
    fn check(memberships: &str, mounts: &str, files: &[(&str, &str)], expected: Option<f64>) {
        let mut all = vec![("proc/self/cgroup", memberships), ("proc/self/mountinfo", mounts)];
        all.extend_from_slice(files);
        assert_eq!(cpu_quota(tree(&all).path()), expected);
    }

    #[test]
    fn v2() {
        let own = "sys/fs/cgroup/app.slice/cpu.max";
        check("0::/app.slice\n", V2_MOUNT, &[(own, "150000 100000\n")], Some(1.5));
        check("0::/app.slice\n", V2_MOUNT, &[(own, "max 100000\n")], None);
        check("0::/app.slice\n", V2_MOUNT, &[], None);
        check("0::/\n", V2_MOUNT, &[("sys/fs/cgroup/cpu.max", "200000 100000\n")], Some(2.0));
    }

    #[test]
    fn a_parent_may_be_tighter() {
        let files = [("sys/fs/cgroup/a/cpu.max", "50000 100000\n"), ("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n")];
        check("0::/a/b\n", V2_MOUNT, &files, Some(0.5));
        check("0::/a\n", V2_MOUNT, &files, Some(0.5));
    }

    #[test]
    fn v1() {
        let own = "sys/fs/cgroup/cpu,cpuacct/docker/1/";
        let (quota, period) = (format!("{own}cpu.cfs_quota_us"), format!("{own}cpu.cfs_period_us"));
        let member = "3:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/\n";
        check(member, V1_MOUNT, &[(&quota, "250000\n"), (&period, "100000\n")], Some(2.5));
        check(member, V1_MOUNT, &[(&quota, "-1\n"), (&period, "100000\n")], None);
        check(member, V1_MOUNT, &[(&quota, "250000\n"), (&period, "0\n")], None);
    }

    #[test]
    fn a_mount_that_starts_at_the_containers_own_cgroup() {
        let mount = "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        check("0::/docker/1/job\n", mount, &[("sys/fs/cgroup/job/cpu.max", "100000 100000\n")], Some(1.0));
        check("0::/elsewhere\n", mount, &[("sys/fs/cgroup/cpu.max", "300000 100000\n")], Some(3.0));
    }

    #[test]
    fn nothing_there_means_no_limit() {
        check("", "", &[], None);
        check("0::/app\n", "nonsense\n", &[], None);
        assert_eq!(cpu_quota(tree(&[]).path()), None);
    }
}
