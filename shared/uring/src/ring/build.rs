//! How a ring is made, and what it can.

use io_uring::{IoUring, opcode};

use super::calls::errno_of;
use crate::errno::Errno;
use crate::error::RingError;
use crate::params::{Attempt, Flag, RingConfig, Setup};

/// A ring with the flags of one attempt.
pub(super) fn build(attempt: &Attempt) -> Result<IoUring, Errno> {
    let mut builder = IoUring::builder();
    builder.dontfork();
    for flag in &attempt.flags {
        match flag {
            Flag::SingleIssuer => builder.setup_single_issuer(),
            Flag::DeferTaskrun => builder.setup_defer_taskrun(),
            Flag::NoSqarray => builder.setup_no_sqarray(),
            Flag::SubmitAll => builder.setup_submit_all(),
            Flag::CqSize => builder.setup_cqsize(attempt.cq_entries),
            Flag::Clamp => builder.setup_clamp(),
        };
    }
    builder.build(attempt.entries).map_err(|error| errno_of(&error))
}

/// What `attempt` got; the rest of the set-up fills in what it gets itself.
pub(super) fn describe(io: &IoUring, config: &RingConfig, attempt: &Attempt) -> Setup {
    let lacking = |flag: &Flag| !config.without.contains(flag) && !attempt.flags.contains(flag);
    Setup {
        entries: io.params().sq_entries(),
        cq_entries: io.params().cq_entries(),
        flags: attempt.flags.clone(),
        lacking: Flag::LADDER.into_iter().filter(lacking).collect(),
        registered_fd: false,
        no_iowait: io.params().is_feature_no_iowait(),
    }
}

/// Multishot receive has no probe of its own; SEND_ZC came with the same kernel (6.0) and has one.
pub(super) fn require_multishot_recv(io: &IoUring) -> Result<(), RingError> {
    let mut probe = io_uring::Probe::new();
    let probed = io.submitter().register_probe(&mut probe).map_err(|error| errno_of(&error));
    match probed {
        Ok(()) if probe.is_supported(opcode::SendZc::CODE) => Ok(()),
        Ok(()) => Err(RingError::Feature { feature: "multishot receive", errno: Errno(libc::EINVAL) }),
        Err(errno) => Err(RingError::Call { call: "io_uring_register(PROBE)", errno }),
    }
}
