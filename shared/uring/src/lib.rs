//! Rings, buffer rings and tokens: the only crate that talks io_uring.
//!
//! # The life of one completion
//!
//! An engine asks for an operation by name ([`Uring::recv`], [`Uring::send`], …) and says whose it is with a [`Key`]: a slot
//! at one generation. The ring packs operation and key into a [`Token`], puts the submission entry into the queue (or into
//! its own backlog while that is full, so that none is lost), and hands all of them to the kernel in the next
//! [`Uring::enter`]. The kernel answers with completions; [`Uring::next`] decodes each once (sign, F_MORE, F_BUFFER) into a
//! [`Completion`]. The engine looks its key up in [`Slots`]: a completion of a slot that has been freed since finds nothing
//! and is counted, never mistaken for its successor's.
//!
//! # Who owns the bytes
//!
//! The ring owns every byte that the kernel may touch: receive memory always (it is lent out as [`BufId`] and read through
//! [`Uring::bytes`]), send memory from [`Uring::send`] until its completion has been popped ([`Uring::take_out`]). Nothing
//! that safe code can do makes the kernel write to memory that has another owner.
//!
//! Read the modules in this order: [`token`], [`slots`], [`op`], [`completion`], [`params`], [`bufring`], [`ring`], [`sim`].
#![deny(unsafe_code)]

pub mod bufring;
pub mod completion;
pub mod errno;
pub mod error;
pub mod op;
pub mod out;
pub mod params;
pub mod parked;
pub mod ring;
pub mod sim;
pub mod slots;
pub mod token;

use std::os::fd::{OwnedFd, RawFd};

pub use bufring::BufId;
pub use completion::Completion;
pub use errno::Errno;
pub use error::RingError;
pub use out::Out;
pub use params::{RingConfig, Setup};
pub use parked::Parked;
pub use ring::Ring;
pub use slots::Slots;
pub use socket2::SockAddr;
pub use token::{Key, Op, Token};

/// How an [`Uring::enter`] waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Return as soon as this many completions are there; 0 only looks.
    pub min: u32,
    /// Return after this long all the same; `None` waits without end.
    pub timeout_ns: Option<u64>,
}

impl Wait {
    /// Sleep until one completion has come.
    pub const BLOCK: Self = Self { min: 1, timeout_ns: None };
    /// Submit, take what is there, don't sleep.
    pub const POLL: Self = Self { min: 0, timeout_ns: None };

    /// Sleep until one completion has come or `timeout_ns` has passed.
    #[must_use]
    pub const fn at_most(timeout_ns: u64) -> Self {
        Self { min: 1, timeout_ns: Some(timeout_ns) }
    }
}

/// What a ring counted since it was made. Each is a plain number of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of io_uring_enter(2).
    pub enters: u64,
    /// Submission entries that the kernel has taken.
    pub submitted: u64,
    /// Completions popped.
    pub completions: u64,
    /// Times that a submission found the queue full and went to the backlog.
    pub sq_full: u64,
    /// Times that the kernel said its completion queue had overflowed (they are kept by the kernel and fetched, not lost).
    pub cq_overflows: u64,
    /// Receives that ended because no buffer was free (ENOBUFS).
    pub no_buffers: u64,
    /// Times that the kernel refused to take submissions for now (EBUSY, EAGAIN).
    pub busy: u64,
}

/// What an engine may ask of a ring. [`Ring`] asks the kernel, [`sim::Sim`] follows a script.
///
/// Operations are queued and reach the kernel with the next [`enter`](Self::enter). Each completes with a [`Completion`]
/// that carries the [`Key`] given here. A multishot operation (accept, recv) completes many times; it is over with the
/// first completion whose `more` is false, whatever its result says, and must then be asked for again.
pub trait Uring {
    /// Submits all that is queued and waits as `wait` says.
    ///
    /// Interruptions (EINTR), time-outs (ETIME) and a kernel that is busy (EBUSY, EAGAIN) are not errors: the call
    /// returns, [`next`](Self::next) yields what there is, and the rest is submitted by the next call.
    ///
    /// # Errors
    /// Only when the ring can't go on: completions were lost (EBADR) or the ring itself is refused.
    fn enter(&mut self, wait: Wait) -> Result<(), RingError>;
    /// Pops one completion of those that the last [`enter`](Self::enter) brought.
    fn next(&mut self) -> Option<Completion>;

    /// Accepts connections on a listening socket until told otherwise (multishot).
    fn accept(&mut self, key: Key, fd: RawFd);
    /// Receives into the ring's buffers until told otherwise (multishot).
    fn recv(&mut self, key: Key, fd: RawFd);
    /// Connects a socket.
    fn connect(&mut self, key: Key, fd: RawFd, addr: SockAddr);
    /// Sends what is unsent in `out` and keeps `out` until [`take_out`](Self::take_out).
    ///
    /// # Panics
    /// When the slot has a send in flight already: two could be reordered by the kernel (one send per connection).
    fn send(&mut self, key: Key, fd: RawFd, out: Out);
    /// Gives back the buffer of a send whose completion has been popped.
    fn take_out(&mut self, key: Key) -> Option<Out>;
    /// Closes a descriptor on the ring.
    fn close(&mut self, key: Key, fd: OwnedFd);
    /// Ends the operation `op` of `key`; that one completes with ECANCELED, and this request with [`Op::Cancel`].
    fn cancel(&mut self, key: Key, op: Op);
    /// Completes once when `fd` (an eventfd) becomes readable.
    fn wake_on(&mut self, key: Key, fd: RawFd);
    /// Completes once at `at_ns` of CLOCK_MONOTONIC.
    fn tick(&mut self, key: Key, at_ns: u64);

    /// The bytes that a receive brought.
    fn bytes(&self, id: &BufId) -> &[u8];
    /// Gives a receive buffer back; the kernel sees it from the next [`commit`](Self::commit) or [`enter`](Self::enter) on.
    fn release(&mut self, id: BufId);
    /// Publishes the released buffers with one store.
    fn commit(&mut self);
    /// Buffers that the kernel can still fill.
    fn free_buffers(&self) -> usize;
    /// What was counted so far.
    fn counters(&self) -> Counters;
}
