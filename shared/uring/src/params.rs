//! Which set-up flags are asked for, in which order they are given up, and what was got.
//!
//! The kernel refuses a whole set-up with EINVAL when it doesn't know one flag, and flags can't be asked for beforehand
//! (liburing#906), so they are tried: all of them first, then without the youngest, and so on down to none.

use crate::errno::Errno;
use crate::error::{RingError, Surroundings, refused};

/// A set-up flag that a kernel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// One thread submits: no lock on the way (since 6.0).
    SingleIssuer,
    /// Completions are worked off when we ask for them, not whenever the task is interrupted (since 6.1).
    DeferTaskrun,
    /// No index array between us and the entries (since 6.6).
    NoSqarray,
    /// A refused entry doesn't stop the rest of its batch (since 5.18).
    SubmitAll,
    /// Our own size for the completion queue (since 5.5).
    CqSize,
    /// Too large a size is cut instead of refused (since 5.6).
    Clamp,
}

impl Flag {
    /// All flags, youngest kernel first: the order in which they are given up.
    pub const LADDER: [Self; 6] =
        [Self::NoSqarray, Self::DeferTaskrun, Self::SingleIssuer, Self::SubmitAll, Self::Clamp, Self::CqSize];

    /// The name of the kernel's constant without its prefix.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleIssuer => "SINGLE_ISSUER",
            Self::DeferTaskrun => "DEFER_TASKRUN",
            Self::NoSqarray => "NO_SQARRAY",
            Self::SubmitAll => "SUBMIT_ALL",
            Self::CqSize => "CQSIZE",
            Self::Clamp => "CLAMP",
        }
    }

    /// Whether the flag means nothing without `other`: DEFER_TASKRUN is refused without SINGLE_ISSUER.
    const fn needs(self) -> Option<Self> {
        match self {
            Self::DeferTaskrun => Some(Self::SingleIssuer),
            _ => None,
        }
    }
}

/// What is wanted of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Submission entries.
    pub entries: u32,
    /// Completion entries. Every connection can have a receive, a send and a cancel in flight: an overflow is kept by the
    /// kernel but costs a call to fetch, so the queue is large by default.
    pub cq_entries: u32,
    /// Receive buffers; a power of two, at most 32768. 0 makes a ring without (it cannot receive).
    pub buffers: u16,
    /// Length of one receive buffer in bytes, of which the last [`crate::bufring::PADDING_BYTES`] are never filled.
    pub buffer_len_bytes: u32,
    /// Flags not to ask for: to try how a kernel without them behaves, and what each is worth.
    pub without: Vec<Flag>,
    /// Whether to register the ring's descriptor, which saves its look-up in every call (since 5.18).
    pub register_ring_fd: bool,
}

impl Default for RingConfig {
    fn default() -> Self {
        Self {
            entries: 1024,
            cq_entries: 16384,
            buffers: 512,
            buffer_len_bytes: 4096,
            without: Vec::new(),
            register_ring_fd: true,
        }
    }
}

/// Fewer entries than this are not tried: with less a batch would be cut to pieces.
pub const MIN_ENTRIES: u32 = 64;

/// What a ring got of what it asked for. Its `Display` is one line for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Submission entries.
    pub entries: u32,
    /// Completion entries.
    pub cq_entries: u32,
    /// Flags in force.
    pub flags: Vec<Flag>,
    /// Flags that were asked for and that the kernel lacks.
    pub lacking: Vec<Flag>,
    /// Whether the registered descriptor is in use.
    pub registered_fd: bool,
    /// Whether a wait is kept out of the iowait figures (since 6.15): an idle server is idle.
    pub no_iowait: bool,
}

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |flags: &[Flag]| flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(" ");
        write!(f, "{} entries, {} completions, {}", self.entries, self.cq_entries, names(&self.flags))?;
        if self.registered_fd {
            f.write_str(" REGISTERED_FD")?;
        }
        if self.no_iowait {
            f.write_str(" NO_IOWAIT")?;
        }
        if !self.lacking.is_empty() {
            write!(f, " (kernel lacks {})", names(&self.lacking))?;
        }
        Ok(())
    }
}

/// One try of the ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) entries: u32,
    pub(crate) cq_entries: u32,
    pub(crate) flags: Vec<Flag>,
}

/// Walks down the ladder: `build` is asked for less and less until it succeeds.
///
/// EINVAL gives up the youngest flag that is left, ENOMEM halves the entries; any other refusal is final.
pub(crate) fn climb_down<R>(
    config: &RingConfig,
    around: &Surroundings,
    mut build: impl FnMut(&Attempt) -> Result<R, Errno>,
) -> Result<(R, Attempt), RingError> {
    let wanted = |flag: &Flag| {
        !config.without.contains(flag) && flag.needs().is_none_or(|other| !config.without.contains(&other))
    };
    let mut attempt = Attempt {
        entries: config.entries.next_power_of_two(),
        cq_entries: config.cq_entries.next_power_of_two(),
        flags: Flag::LADDER.into_iter().filter(wanted).collect(),
    };
    loop {
        match build(&attempt) {
            Ok(ring) => return Ok((ring, attempt)),
            Err(errno) if errno.is_invalid() && !attempt.flags.is_empty() => {
                attempt.flags.remove(0);
            }
            Err(errno) if errno.is_memory() && attempt.entries > MIN_ENTRIES => {
                attempt.entries /= 2;
                attempt.cq_entries = (attempt.cq_entries / 2).max(2 * attempt.entries);
            }
            Err(errno) => return Err(refused(errno, attempt.entries, around)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climb(
        config: &RingConfig,
        kernel: impl Fn(&Attempt) -> Result<(), Errno>,
    ) -> (Result<Attempt, RingError>, usize) {
        let mut tries = 0;
        let around = Surroundings { disabled: 0, seccomp: false, memlock: String::new() };
        let result = climb_down(config, &around, |attempt| {
            tries += 1;
            kernel(attempt)
        });
        (result.map(|((), attempt)| attempt), tries)
    }

    #[test]
    fn each_kernel_gets_all_that_it_knows() {
        for known in 0..=Flag::LADDER.len() {
            let lacking = &Flag::LADDER[..known];
            let kernel = |a: &Attempt| match a.flags.iter().any(|f| lacking.contains(f)) {
                true => Err(Errno(libc::EINVAL)),
                false => Ok(()),
            };
            let (result, tries) = climb(&RingConfig::default(), kernel);
            assert_eq!(result.expect("some ring").flags, Flag::LADDER[known..].to_vec());
            assert_eq!(tries, known + 1);
        }
    }

    #[test]
    fn memory_is_asked_for_in_halves_down_to_the_floor() {
        let (result, _) = climb(&RingConfig::default(), |a| match a.entries > 100 {
            true => Err(Errno(libc::ENOMEM)),
            false => Ok(()),
        });
        assert_eq!(result.expect("small ring").entries, 64);
        let (result, tries) = climb(&RingConfig::default(), |_| Err(Errno(libc::ENOMEM)));
        assert!(matches!(result, Err(RingError::Memory { entries: MIN_ENTRIES, .. })));
        assert!(tries < 10, "the ladder ends");
    }

    #[test]
    fn other_refusals_are_final() {
        let (result, tries) = climb(&RingConfig::default(), |_| Err(Errno(libc::EPERM)));
        assert!(result.is_err());
        assert_eq!(tries, 1);
    }

    #[test]
    fn a_flag_goes_with_the_one_it_needs() {
        let config = RingConfig { without: vec![Flag::SingleIssuer], ..RingConfig::default() };
        let (result, _) = climb(&config, |_| Ok(()));
        let flags = result.expect("ring").flags;
        assert!(!flags.contains(&Flag::SingleIssuer) && !flags.contains(&Flag::DeferTaskrun), "{flags:?}");
    }
}
