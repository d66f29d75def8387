//! Why there is no ring, told apart so that the message can say what to do.

use crate::errno::Errno;

/// A ring could not be made, or can't go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// kernel.io_uring_disabled forbids it.
    #[error(
        "io_uring is switched off here (kernel.io_uring_disabled = {value}); `sysctl kernel.io_uring_disabled=0` allows it"
    )]
    Disabled {
        /// What the sysctl holds: 1 allows it to a group only, 2 to nobody.
        value: u32,
    },
    /// A seccomp filter, as container runtimes install, refuses the call.
    #[error(
        "a seccomp filter refuses io_uring ({errno}); in a container, allow io_uring_setup, _enter and _register in its seccomp profile"
    )]
    Seccomp {
        /// What the filter returned.
        errno: Errno,
    },
    /// The kernel has no io_uring.
    #[error("this kernel has no io_uring; Linux 6.0 or later is needed")]
    Missing,
    /// The kernel has io_uring, but not this part of it.
    #[error("this kernel's io_uring lacks {feature} ({errno}); Linux 6.0 or later is needed")]
    Feature {
        /// What was asked for.
        feature: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// Locked memory or memory ran out.
    #[error("no memory for a ring of {entries} entries ({errno}); raise `ulimit -l` (now {memlock}) or ask for fewer")]
    Memory {
        /// The smallest size that was tried.
        entries: u32,
        /// What the kernel said.
        errno: Errno,
        /// RLIMIT_MEMLOCK in words.
        memlock: String,
    },
    /// The limit on descriptors was met.
    #[error("no descriptor left for a ring ({errno}); raise `ulimit -n`")]
    Descriptors {
        /// What the kernel said.
        errno: Errno,
    },
    /// The kernel lost completions (EBADR): what is in flight is no longer known.
    #[error("the kernel ran out of memory and lost completions ({errno}); the ring can't go on")]
    Lost {
        /// What the kernel said.
        errno: Errno,
    },
    /// Anything else.
    #[error("{call} failed: {errno}")]
    Call {
        /// The call.
        call: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
}

/// What decides between the reasons for a refusal; read from /proc, a parameter in tests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    pub(crate) disabled: u32,
    pub(crate) seccomp: bool,
    pub(crate) memlock: String,
}

impl Surroundings {
    pub(crate) fn read() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            disabled: read("/proc/sys/kernel/io_uring_disabled").trim().parse().unwrap_or(0),
            seccomp: seccomp_filtered(&read("/proc/self/status")),
            memlock: memlock_limit(&read("/proc/self/limits")),
        }
    }
}

/// Mode 2 of proc(5): a filter is installed.
fn seccomp_filtered(status: &str) -> bool {
    status.lines().find_map(|line| line.strip_prefix("Seccomp:")).is_some_and(|mode| mode.trim() == "2")
}

fn memlock_limit(limits: &str) -> String {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown");
    match soft.parse::<u64>() {
        Ok(bytes) => format!("{} KiB", bytes / 1024),
        Err(_) => soft.to_owned(),
    }
}

/// Names the reason for which io_uring_setup(2) was refused.
///
/// EPERM comes from the sysctl, which `Surroundings` shows, or from a filter; ENOSYS from an old kernel or a filter.
pub(crate) fn refused(errno: Errno, entries: u32, around: &Surroundings) -> RingError {
    match errno.0 {
        libc::EPERM | libc::EACCES if around.disabled > 0 => RingError::Disabled { value: around.disabled },
        libc::EPERM | libc::EACCES | libc::ENOSYS if around.seccomp => RingError::Seccomp { errno },
        libc::ENOSYS => RingError::Missing,
        libc::ENOMEM => RingError::Memory { entries, errno, memlock: around.memlock.clone() },
        libc::EMFILE | libc::ENFILE => RingError::Descriptors { errno },
        libc::EINVAL => RingError::Feature { feature: "a ring without any flag", errno },
        _ => RingError::Call { call: "io_uring_setup", errno },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart() {
        let around = |disabled, seccomp| Surroundings { disabled, seccomp, memlock: "64 KiB".to_owned() };
        let cases = [
            (libc::EPERM, around(2, false), "kernel.io_uring_disabled = 2"),
            (libc::EPERM, around(2, true), "kernel.io_uring_disabled = 2"),
            (libc::EPERM, around(0, true), "seccomp"),
            (libc::ENOSYS, around(0, true), "seccomp"),
            (libc::ENOSYS, around(0, false), "has no io_uring"),
            (libc::ENOMEM, around(0, false), "ulimit -l` (now 64 KiB)"),
            (libc::EMFILE, around(0, false), "ulimit -n"),
            (libc::EPERM, around(0, false), "io_uring_setup failed"),
        ];
        for (errno, around, words) in cases {
            let message = refused(Errno(errno), 8, &around).to_string();
            assert!(message.contains(words), "{errno} {around:?}: {message}");
            assert!(!message.contains('\n'), "one line: {message}");
        }
    }

    #[test]
    fn proc_is_read_as_it_is_written() {
        assert!(seccomp_filtered("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!seccomp_filtered("Seccomp:\t0\n"));
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max locked memory         8388608              8388608              bytes\n";
        assert_eq!(memlock_limit(limits), "8192 KiB");
        assert_eq!(
            memlock_limit("Max locked memory         unlimited            unlimited            bytes\n"),
            "unlimited"
        );
    }
}
