//! Resource limits of this process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lifts the soft limit of open files to the hard one and returns what it is now (`u64::MAX`: none). A server of 20,000
/// connections must not end at the 1,024 that shells hand out for the sake of `select(2)`.
///
/// # Errors
/// Those of `setrlimit(2)`. The old limit then still holds.
pub fn raise_nofile() -> io::Result<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(nofile().soft)
}

/// A soft limit and the hard one above it; `u64::MAX` stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftHard {
    /// What holds.
    pub soft: u64,
    /// How far the process may lift it.
    pub hard: u64,
}

/// Open files (`RLIMIT_NOFILE`).
#[must_use]
pub fn nofile() -> SoftHard {
    limit(Resource::Nofile)
}

/// Locked memory in bytes (`RLIMIT_MEMLOCK`), to which registered buffers are charged.
#[must_use]
pub fn memlock_bytes() -> SoftHard {
    limit(Resource::Memlock)
}

fn limit(resource: Resource) -> SoftHard {
    let Rlimit { current, maximum } = getrlimit(resource);
    SoftHard { soft: current.unwrap_or(u64::MAX), hard: maximum.unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let allowed = raise_nofile().unwrap();
        assert_eq!(nofile(), SoftHard { soft: allowed, hard: allowed });
        assert_eq!(raise_nofile().unwrap(), allowed);
        assert!(memlock_bytes().soft <= memlock_bytes().hard);
    }
}
