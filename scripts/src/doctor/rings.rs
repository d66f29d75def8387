//! What this machine's io_uring can do, and if it can't, why not.

use ringshot_host::root::Root;
use ringshot_uring::params::Flag;
use ringshot_uring::{Ring, RingConfig, RingError, Setup};
use rustix::process::{Resource, getrlimit};

use super::Finding;

/// Registered buffers of a large server need about this much locked memory.
const MEMLOCK_WANTED_BYTES: u64 = 8 << 20;
/// A connection takes a descriptor at each end, and a thousand connections are an ordinary run.
const NOFILE_WANTED: u64 = 4096;

/// A ring as the server would make it, the switches that forbid one, and the limits that bound it.
#[must_use]
pub fn findings(root: &Root) -> Vec<Finding> {
    let made = Ring::new(&RingConfig::default()).map(|ring| ring.setup().clone());
    let mut findings = vec![ring(&made)];
    findings.extend(made.iter().flat_map(|setup| &setup.lacking).map(|&flag| lacking(flag)));
    findings.push(switch(root));
    findings.push(seccomp(root));
    findings.push(memlock(getrlimit(Resource::Memlock).current, rustix::process::geteuid().is_root()));
    findings.push(nofile(getrlimit(Resource::Nofile).current));
    findings
}

fn ring(made: &Result<Setup, RingError>) -> Finding {
    match made {
        Ok(setup) => Finding::fine("ring", setup.to_string()),
        Err(error) => Finding::bad("ring", format!("none: {error}"), "until then only `--engine epoll` works"),
    }
}

/// What is lost without a flag, and which kernel brings it.
fn lacking(flag: Flag) -> Finding {
    let (since, loss) = match flag {
        Flag::NoSqarray => ("6.6", "one indirection more a submission"),
        Flag::DeferTaskrun => ("6.1", "completions interrupt the thread whenever the kernel likes"),
        Flag::SingleIssuer => ("6.0", "a lock in every submission"),
        Flag::SubmitAll => ("5.18", "a refused entry ends its batch"),
        Flag::Clamp => ("5.6", "too large a queue is refused instead of cut"),
        Flag::CqSize => ("5.5", "completion queues of twice the submissions only"),
    };
    Finding::mind("lacks", format!("{} (Linux {since}): {loss}", flag.name()), format!("run Linux {since} or later"))
}

/// kernel.io_uring_disabled: 1 leaves it to a group, 2 to nobody (kernel Documentation/admin-guide/sysctl/kernel).
fn switch(root: &Root) -> Finding {
    let group = Root::read(&root.sysctl("kernel/io_uring_group")).unwrap_or_else(|| "-1".to_owned());
    let advice = "`sysctl kernel.io_uring_disabled=0`, or join the group of kernel.io_uring_group";
    match Root::read(&root.sysctl("kernel/io_uring_disabled")).as_deref() {
        Some("0") => Finding::fine("switch", "kernel.io_uring_disabled = 0: allowed to everyone"),
        Some("1") => {
            Finding::mind("switch", format!("kernel.io_uring_disabled = 1: group {group} and root only"), advice)
        }
        Some(value) => Finding::mind("switch", format!("kernel.io_uring_disabled = {value}: nobody"), advice),
        None => Finding::fine("switch", "no kernel.io_uring_disabled (before Linux 6.6): allowed to everyone"),
    }
}

fn seccomp(root: &Root) -> Finding {
    let status = Root::read(&root.proc.join("self/status")).unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map_or("", str::trim);
    if mode == "2" {
        return Finding::mind(
            "seccomp",
            "a filter is in front of every system call",
            "it costs time, and container profiles may refuse io_uring: allow io_uring_setup, _enter, _register",
        );
    }
    Finding::fine("seccomp", "no filter")
}

fn memlock(limit: Option<u64>, is_exempt: bool) -> Finding {
    let text = limit.map_or_else(|| "unlimited".to_owned(), |bytes| format!("{} KiB", bytes / 1024));
    match limit {
        Some(bytes) if bytes < MEMLOCK_WANTED_BYTES && !is_exempt => Finding::mind(
            "memlock",
            format!("{text} of locked memory"),
            "`ulimit -l 65536` for large registered buffers",
        ),
        _ => Finding::fine(
            "memlock",
            format!("{text} of locked memory{}", if is_exempt { ", not counted for root" } else { "" }),
        ),
    }
}

fn nofile(limit: Option<u64>) -> Finding {
    match limit {
        Some(count) if count < NOFILE_WANTED => Finding::mind(
            "open files",
            format!("{count}"),
            format!("`ulimit -n {NOFILE_WANTED}` or more for many connections"),
        ),
        Some(count) => Finding::fine("open files", format!("{count}")),
        None => Finding::fine("open files", "unlimited"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;
    use ringshot_uring::Errno;

    #[test]
    fn reasons_against_a_ring_are_told_apart() {
        let cases = [
            (RingError::Disabled { value: 2 }, "kernel.io_uring_disabled"),
            (RingError::Seccomp { errno: Errno(1) }, "seccomp"),
            (RingError::Missing, "no io_uring"),
            (RingError::Memory { entries: 64, errno: Errno(12), memlock: "64 KiB".to_owned() }, "ulimit -l"),
            (RingError::Descriptors { errno: Errno(24) }, "ulimit -n"),
        ];
        for (error, words) in cases {
            let finding = ring(&Err(error));
            assert_eq!(finding.grade, Grade::Bad);
            assert!(finding.text.contains(words), "{finding:?}");
        }
    }

    #[test]
    fn each_flag_says_what_is_lost_without_it() {
        for flag in Flag::LADDER {
            let finding = lacking(flag);
            assert!(finding.text.starts_with(flag.name()) && finding.advice.contains("Linux"), "{finding:?}");
        }
    }

    #[test]
    fn switches_and_limits_are_graded() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = Root::under(directory.path());
        assert_eq!(switch(&root).grade, Grade::Fine, "old kernels have no switch");
        std::fs::create_dir_all(root.sysctl("kernel")).expect("directories");
        for (value, grade) in [("0", Grade::Fine), ("1", Grade::Mind), ("2", Grade::Mind)] {
            std::fs::write(root.sysctl("kernel/io_uring_disabled"), value).expect("a file");
            assert_eq!(switch(&root).grade, grade, "{value}");
        }
        for (limit, exempt, grade) in [
            (Some(65536), false, Grade::Mind),
            (Some(65536), true, Grade::Fine),
            (Some(8 << 20), false, Grade::Fine),
            (None, false, Grade::Fine),
        ] {
            assert_eq!(memlock(limit, exempt).grade, grade, "{limit:?} {exempt}");
        }
        assert_eq!(nofile(Some(1024)).grade, Grade::Mind);
        assert_eq!(nofile(Some(20000)).grade, Grade::Fine);
    }
}
