//! A network and mount namespace of its own, in which settings can be tried without a trace on the host.
//!
//! [`Sandbox::enter`] moves the calling process, which must not have started a thread yet: the lab starts its own
//! executable as a child, the child enters, and everything it starts afterwards is inside. Inside are
//! - the host's values of all settings of the network namespace (a new one has the kernel's defaults, which would make
//!   the baseline another one than the user's),
//! - loopback, up, with the host's MTU, and no other device,
//! - a /sys of its own: without it /sys would go on showing the host's devices, and writing there would change them,
//! - mounts that don't propagate: whatever is mounted inside stays inside.
//!
//! Not everything is contained. CPU idle states, frequency, page cache and the settings of [`Scope::Host`] are shared.
//! Steering by rps_cpus turns on a switch for the whole machine that the kernel forgets to turn off when a namespace
//! ends with it set, so it is cleared before: by [`Drop`], not by SIGKILL.
//!
//! [`Scope::Host`]: crate::knob::Scope::Host

mod copy;

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::thread::UnshareFlags;

use crate::root::Root;
use crate::sys;
pub use copy::Difference;
use copy::Snapshot;

/// The flag of a device that is up (netdevice(7)).
const IFF_UP: u32 = 1;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The process has threads: they would stay outside.
    #[error("a sandbox must be entered before threads are started; this process has {0}")]
    Threads(u32),
    /// Neither root's way nor the user namespace's is open.
    #[error("no sandbox for an ordinary user here: {reason}; run as root, or allow user namespaces")]
    Privilege {
        /// What closes it, as far as the system tells.
        reason: String,
    },
    /// A step inside failed.
    #[error("the sandbox can't be set up: {step}: {error}")]
    Step {
        /// Which.
        step: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

/// By which right the sandbox was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// CAP_SYS_ADMIN.
    Root,
    /// A user namespace, in which the user is root over the new namespaces and nothing else.
    UserNamespace,
}

/// The namespaces that the process is in now. Dropping it clears what would outlive them; the process stays inside.
#[derive(Debug)]
pub struct Sandbox {
    right: Right,
    differences: Vec<Difference>,
    notes: Vec<String>,
    root: Root,
}

impl Sandbox {
    /// Moves the calling process into namespaces of its own.
    ///
    /// # Errors
    /// When the process has threads, has no right to namespaces, or a step of setting up fails. After a failed step the
    /// process is in between and must end.
    pub fn enter() -> Result<Self, SandboxError> {
        let root = Root::host();
        let threads = count_threads(&root);
        if threads != 1 {
            return Err(SandboxError::Threads(threads));
        }
        let snapshot = Snapshot::take(&root);
        let notes = notes(&root);
        let right = unshare(&root)?;
        own_mounts().map_err(|errno| step("a private /sys", errno.into()))?;
        raise_loopback(&root).map_err(|error| step("bringing loopback up", error))?;
        let differences = snapshot.write();
        Ok(Self { right, differences, notes, root })
    }

    /// By which right it was made.
    #[must_use]
    pub const fn right(&self) -> Right {
        self.right
    }

    /// The host's values that could not be copied: the baseline inside differs from the host in these.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// What else differs from the host, in words.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for queue in steering_files(&self.root) {
            // Nobody is left to tell; a device that has gone has no steering either.
            let _ = crate::setting::write_value(&queue, "0");
        }
    }
}

fn step(step: &'static str, error: io::Error) -> SandboxError {
    SandboxError::Step { step, error }
}

fn count_threads(root: &Root) -> u32 {
    let status = Root::read(&root.proc.join("self/status")).unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok());
    count.unwrap_or(1)
}

/// What a new namespace lacks and no setting brings back.
fn notes(root: &Root) -> Vec<String> {
    let mut notes = Vec::new();
    let tracked = Root::read(&root.sysctl("net/netfilter/nf_conntrack_count"));
    if tracked.is_some_and(|count| count != "0") {
        notes.push("the host tracks connections and the sandbox doesn't: each packet is cheaper inside".to_owned());
    }
    let sockets = Root::read(&root.proc.join("thread-self/net/packet")).unwrap_or_default();
    if sockets.lines().count() > 1 {
        notes.push(
            "programs listen to packets on the host and not in the sandbox: each packet is cheaper inside".to_owned(),
        );
    }
    notes
}

/// New namespaces, as root where that is allowed, else inside a new user namespace.
fn unshare(root: &Root) -> Result<Right, SandboxError> {
    let flags = UnshareFlags::NEWNET | UnshareFlags::NEWNS;
    match sys::unshare_namespaces(flags) {
        Ok(()) => return Ok(Right::Root),
        Err(Errno::PERM) => {}
        Err(errno) => return Err(step("unshare(2)", errno.into())),
    }
    // Asked for before: inside the user namespace the ids read as nobody's until they are mapped.
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let closed = |errno: Errno| SandboxError::Privilege { reason: why_closed(root, errno) };
    sys::unshare_namespaces(UnshareFlags::NEWUSER).map_err(closed)?;
    map_ids(root, uid, gid).map_err(|error| SandboxError::Privilege {
        reason: format!("the user namespace's ids can't be mapped ({error}); a security module may restrict it"),
    })?;
    // Only now: the files of a network namespace belong to whom the ids are mapped to when it is made.
    sys::unshare_namespaces(flags).map_err(closed)?;
    Ok(Right::UserNamespace)
}

/// Makes the user root inside. setgroups must be given up first (user_namespaces(7)).
fn map_ids(root: &Root, uid: u32, gid: u32) -> io::Result<()> {
    let own = root.proc.join("self");
    std::fs::write(own.join("setgroups"), "deny")?;
    std::fs::write(own.join("uid_map"), format!("0 {uid} 1"))?;
    std::fs::write(own.join("gid_map"), format!("0 {gid} 1"))
}

/// Which of the known switches refuses a user namespace.
fn why_closed(root: &Root, errno: Errno) -> String {
    let is = |name: &str, value: &str| Root::read(&root.sysctl(name)).as_deref() == Some(value);
    if is("user/max_user_namespaces", "0") {
        return "user.max_user_namespaces is 0".to_owned();
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        return "kernel.unprivileged_userns_clone is 0".to_owned();
    }
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "kernel.apparmor_restrict_unprivileged_userns is 1".to_owned();
    }
    match errno {
        Errno::NOSPC => "the limit on namespaces is met (user.max_net_namespaces, user.max_mnt_namespaces)".to_owned(),
        Errno::PERM => "user namespaces are refused; in a container its seccomp profile does that".to_owned(),
        Errno::NOSYS | Errno::INVAL => "this kernel has no user namespaces".to_owned(),
        other => format!("unshare(2) says {other}"),
    }
}

/// Cuts propagation first: without that the new /sys would be mounted over the host's.
fn own_mounts() -> rustix::io::Result<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let groups = rustix::mount::open_tree(CWD, "/sys/fs/cgroup", flags);
    let options = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("sysfs", "/sys", "sysfs", options, None)?;
    if let Ok(groups) = groups {
        // CPU quotas are read there. Without control groups there is nothing to bring along.
        let _ = rustix::mount::move_mount(&groups, "", CWD, "/sys/fs/cgroup", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
    }
    Ok(())
}

/// sysfs takes the flags of netdevice(7), which spares an ioctl.
fn raise_loopback(root: &Root) -> io::Result<()> {
    let path = root.device("lo").join("flags");
    std::fs::write(&path, format!("{IFF_UP:#x}"))?;
    let flags = std::fs::read_to_string(&path)?;
    let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
    if flags & IFF_UP == 0 {
        return Err(io::Error::other(format!("its flags read {flags:#x}")));
    }
    Ok(())
}

/// The steering masks of all receive queues in the caller's namespace.
fn steering_files(root: &Root) -> Vec<PathBuf> {
    let names = |directory: &Path| -> Vec<PathBuf> {
        let listing = std::fs::read_dir(directory);
        listing
            .map_or_else(|_| Vec::new(), |entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
    };
    let devices = names(&root.sys.join("class/net"));
    let queues = devices.iter().flat_map(|device| names(&device.join("queues")));
    queues.map(|queue| queue.join("rps_cpus")).filter(|mask| mask.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeRoot;

    #[test]
    fn a_process_with_threads_is_refused() {
        // The test harness has at least two.
        let error = std::thread::spawn(Sandbox::enter).join().expect("no panic").expect_err("threads");
        assert!(matches!(error, SandboxError::Threads(2..)), "{error}");
    }

    #[test]
    fn a_closed_user_namespace_names_its_switch() {
        for (file, value, errno, words) in [
            ("user/max_user_namespaces", "0", Errno::NOSPC, "user.max_user_namespaces is 0"),
            ("kernel/unprivileged_userns_clone", "0", Errno::PERM, "kernel.unprivileged_userns_clone is 0"),
            ("kernel/apparmor_restrict_unprivileged_userns", "1", Errno::PERM, "apparmor_restrict"),
            ("kernel/unprivileged_userns_clone", "1", Errno::PERM, "seccomp"),
            ("user/max_user_namespaces", "9", Errno::NOSPC, "max_net_namespaces"),
            ("user/max_user_namespaces", "9", Errno::INVAL, "no user namespaces"),
        ] {
            let fake = FakeRoot::new("closed");
            fake.put(&format!("proc/sys/{file}"), value);
            let reason = why_closed(&fake.root, errno);
            assert!(reason.contains(words), "{file}={value} {errno}: {reason}");
        }
    }

    #[test]
    fn what_a_new_namespace_lacks_is_noted() {
        let fake = FakeRoot::new("notes");
        assert!(notes(&fake.root).is_empty());
        fake.put("proc/sys/net/netfilter/nf_conntrack_count", "0\n");
        fake.put("proc/thread-self/net/packet", "sk RefCnt\n");
        assert!(notes(&fake.root).is_empty());
        fake.put("proc/sys/net/netfilter/nf_conntrack_count", "12\n");
        fake.put("proc/thread-self/net/packet", "sk RefCnt\nffff 3\n");
        assert_eq!(notes(&fake.root).len(), 2);
    }

    #[test]
    fn steering_is_found_on_every_queue() {
        let fake = FakeRoot::new("steering");
        for file in ["lo/queues/rx-0/rps_cpus", "veth0/queues/rx-1/rps_cpus", "veth0/queues/tx-0/xps_cpus"] {
            fake.put(&format!("sys/class/net/{file}"), "0\n");
        }
        assert_eq!(steering_files(&fake.root).len(), 2);
    }
}
