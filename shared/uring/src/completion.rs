//! One completion, decoded once: the sign, F_MORE and F_BUFFER never travel further as raw integers.

use std::os::fd::OwnedFd;

use crate::bufring::BufId;
use crate::errno::Errno;
use crate::token::{Key, Op, Token};

/// What the kernel says of an operation.
#[derive(Debug)]
#[must_use]
pub struct Completion {
    /// Which operation, and whose.
    pub token: Token,
    /// What it returned: bytes, or nothing of meaning; or why it failed.
    pub result: Result<u32, Errno>,
    /// Whether the operation is still armed and will complete again.
    pub more: bool,
    /// The buffer that a receive filled. Set exactly when the kernel lent one, also beside an error: give it back.
    pub buffer: Option<BufId>,
    pub(crate) fd: Option<OwnedFd>,
}

impl Completion {
    /// The operation.
    #[must_use]
    #[inline]
    pub fn op(&self) -> Op {
        self.token.op()
    }

    /// Whose operation.
    #[must_use]
    #[inline]
    pub fn key(&self) -> Key {
        self.token.key()
    }

    /// The connection that an accept brought. Whoever doesn't take it closes it by dropping the completion.
    pub fn take_fd(&mut self) -> Option<OwnedFd> {
        self.fd.take()
    }
}
