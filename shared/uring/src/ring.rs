//! The ring on the kernel: this file and its folder are all that enters it.
//!
//! Invariants:
//! - Every byte that the kernel may touch is owned here: receive memory by [`BufRing`], send memory by `sending`, addresses
//!   and times by `held` until the kernel has copied them. Safe code can take none of it away early.
//! - No submission is lost: what finds the queue full waits in `backlog`, and nothing overtakes it there.
//! - `in_flight` counts the operations whose last completion has not been popped. Drop ends them all before memory goes.
//! - A ring belongs to the thread that made it (SINGLE_ISSUER, T2); it is not `Send`.
#![allow(unsafe_code)] // Calls of the kernel with pointers; design rule: only here and in bufring.rs.

mod build;
mod calls;

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use io_uring::squeue::Entry;
use io_uring::types::{CancelBuilder, Timespec};
use io_uring::{IoUring, cqueue};

use self::build::{build, describe, require_multishot_recv};
use self::calls::{errno_of, register_ring_fd, unregister_ring_fd};
use crate::bufring::{BufId, BufRing};
use crate::completion::Completion;
use crate::errno::Errno;
use crate::error::{RingError, Surroundings};
use crate::op;
use crate::out::Out;
use crate::params::{RingConfig, Setup, climb_down};
use crate::token::{Key, Op, Token};
use crate::{Counters, SockAddr, Uring, Wait};

const GETEVENTS: u32 = 1 << 0;
const REGISTERED_RING: u32 = 1 << 4;
/// Since 6.15: a wait here is not accounted as iowait, by which an idle server looks busy (axboe/liburing#943).
const NO_IOWAIT: u32 = 1 << 7;
const BUFFER_GROUP: u16 = 0;
/// How long Drop waits in all for the kernel to end what is in flight; after that the memory is left to it.
const DROP_TRIES: u32 = 20;
const DROP_TRY_NS: u32 = 50_000_000;

/// A send in flight, or one whose completion has been popped and whose buffer waits for its owner.
struct Sending {
    token: Token,
    out: Out,
    done: bool,
}

/// Memory that the kernel copies while it takes a submission entry, kept until it has.
enum Held {
    Addr { _addr: Box<SockAddr> },
    Time(Box<Timespec>),
}

/// An io_uring with its buffer ring.
pub struct Ring {
    // Declared first so that it is dropped first: the kernel lets go before the memory below is freed.
    io: IoUring,
    bufs: Option<BufRing>,
    sending: Vec<Option<Sending>>,
    held: Vec<Held>,
    #[expect(clippy::vec_box, reason = "the kernel is given the address: it must not move with the vector")]
    spare_times: Vec<Box<Timespec>>,
    backlog: VecDeque<Entry>,
    batch: Vec<cqueue::Entry>,
    popped: usize,
    in_flight: usize,
    /// Index of the registered ring descriptor. Kept here and not in the crate's `Submitter`, which forgets it (T3).
    registered: Option<u32>,
    enter_flags: u32,
    counters: Counters,
    setup: Setup,
}

impl Ring {
    /// Makes a ring for the calling thread.
    ///
    /// # Errors
    /// Says which of the known reasons it was: switched off, filtered, too old a kernel, no memory.
    pub fn new(config: &RingConfig) -> Result<Self, RingError> {
        let (io, attempt) = climb_down(config, &Surroundings::read(), build)?;
        let mut ring = Self {
            setup: describe(&io, config, &attempt),
            enter_flags: GETEVENTS,
            io,
            bufs: None,
            sending: Vec::new(),
            held: Vec::new(),
            spare_times: Vec::new(),
            backlog: VecDeque::new(),
            batch: Vec::with_capacity(attempt.cq_entries as usize),
            popped: 0,
            in_flight: 0,
            registered: None,
            counters: Counters::default(),
        };
        require_multishot_recv(&ring.io)?;
        if config.buffers > 0 {
            ring.provide_buffers(config)?;
        }
        if ring.setup.no_iowait {
            ring.enter_flags |= NO_IOWAIT;
        }
        if config.register_ring_fd {
            ring.registered = register_ring_fd(ring.io.as_raw_fd());
            ring.setup.registered_fd = ring.registered.is_some();
        }
        Ok(ring)
    }

    /// What was got of what was asked for.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Operations whose last completion has not been popped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn provide_buffers(&mut self, config: &RingConfig) -> Result<(), RingError> {
        let bufs = BufRing::new(config.buffers, config.buffer_len_bytes);
        // SAFETY: the entries stay where they are (their own allocation) for as long as `bufs` lives, and `bufs` is
        // dropped after `io`, whose drop ends the registration; on failure nothing was registered.
        let registered = unsafe {
            self.io.submitter().register_buf_ring_with_flags(bufs.entries_addr(), bufs.count(), BUFFER_GROUP, 0)
        };
        registered
            .map_err(|error| RingError::Call { call: "io_uring_register(PBUF_RING)", errno: errno_of(&error) })?;
        self.bufs = Some(bufs);
        Ok(())
    }

    fn push(&mut self, entry: Entry) {
        self.in_flight += 1;
        if self.backlog.is_empty() && (self.try_push(&entry) || (self.submit_now() && self.try_push(&entry))) {
            return;
        }
        self.counters.sq_full += 1;
        self.backlog.push_back(entry);
    }

    fn try_push(&mut self, entry: &Entry) -> bool {
        let mut queue = self.io.submission();
        // SAFETY: what the entry points to is owned by this ring until the kernel is done with it: send memory in
        // `sending`, addresses and times in `held`. All other operations point to nothing.
        unsafe { queue.push(entry) }.is_ok()
    }

    fn flush_backlog(&mut self) {
        while let Some(entry) = self.backlog.pop_front() {
            if !self.try_push(&entry) {
                self.backlog.push_front(entry);
                return;
            }
        }
    }

    /// Makes room in the queue in the middle of a batch. Returns whether there is some.
    fn submit_now(&mut self) -> bool {
        let queued = self.io.submission().len() as u32;
        self.call(queued, 0, 0, None).is_ok_and(|taken| taken > 0)
    }

    /// io_uring_enter(2). Returns how many entries the kernel took.
    fn call(&mut self, to_submit: u32, min: u32, flags: u32, timeout: Option<&Timespec>) -> Result<u32, Errno> {
        let (fd, flags) = match self.registered {
            Some(index) => (index as RawFd, flags | REGISTERED_RING),
            None => (self.io.as_raw_fd(), flags),
        };
        self.counters.enters += 1;
        let taken = calls::enter(fd, to_submit, min, flags, timeout)?;
        self.counters.submitted += u64::from(taken);
        Ok(taken)
    }

    /// Sorts the outcomes of an enter: `Ok` when the caller goes on, whatever was or wasn't submitted.
    fn judge(&mut self, result: Result<u32, Errno>) -> Result<u32, RingError> {
        match result {
            Ok(taken) => Ok(taken),
            Err(Errno(libc::EINTR | libc::ETIME)) => Ok(0),
            Err(Errno(libc::EBUSY | libc::EAGAIN)) => {
                self.counters.busy += 1;
                Ok(0)
            }
            Err(errno @ Errno(libc::EBADR)) => Err(RingError::Lost { errno }),
            Err(errno) => Err(RingError::Call { call: "io_uring_enter", errno }),
        }
    }

    fn reap(&mut self) {
        if self.io.submission().cq_overflow() {
            self.counters.cq_overflows += 1;
        }
        self.batch.drain(..self.popped);
        self.popped = 0;
        self.batch.extend(self.io.completion());
    }

    /// Once the kernel has taken every entry it has copied what they pointed to.
    fn let_go_of_held(&mut self) {
        if self.held.is_empty() || !self.backlog.is_empty() || !self.io.submission().is_empty() {
            return;
        }
        for held in self.held.drain(..) {
            if let Held::Time(time) = held {
                self.spare_times.push(time);
            }
        }
    }

    fn decode(&mut self, entry: &cqueue::Entry) -> Option<Completion> {
        let token = Token::from_bits(entry.user_data())?;
        let more = cqueue::more(entry.flags());
        if !more {
            self.in_flight -= 1;
        }
        let result = match u32::try_from(entry.result()) {
            Ok(value) => Ok(value),
            Err(_) if token.op() == Op::Tick && entry.result() == -libc::ETIME => Ok(0),
            Err(_) => Err(Errno(-entry.result())),
        };
        let lent = cqueue::buffer_select(entry.flags());
        let buffer = lent.and_then(|bid| self.bufs.as_mut()?.lend(bid, result.unwrap_or(0)));
        let mut fd = None;
        match (token.op(), result) {
            (Op::Accept, Ok(raw)) => {
                // SAFETY: a successful accept yields a new descriptor that nobody else knows of; it is read once, here.
                fd = Some(unsafe { OwnedFd::from_raw_fd(raw as RawFd) });
            }
            (Op::Recv, Err(Errno::NO_BUFFERS)) => self.counters.no_buffers += 1,
            (Op::Send, _) => self.send_is_done(token),
            _ => {}
        }
        Some(Completion { token, result, more, buffer, fd })
    }

    fn send_is_done(&mut self, token: Token) {
        if let Some(Some(sending)) = self.sending.get_mut(token.key().slot())
            && sending.token == token
        {
            sending.done = true;
        }
    }

    /// Asks the kernel to end everything and pops what it says, for a bounded time. Returns whether nothing is left.
    fn end_all(&mut self) -> bool {
        self.in_flight -= self.backlog.len();
        self.backlog.clear();
        for _ in 0..DROP_TRIES {
            if self.in_flight == 0 {
                return true;
            }
            // Entries that wait in the queue must reach the kernel before they can be cancelled.
            let queued = self.io.submission().len() as u32;
            let _ = self.call(queued, 0, GETEVENTS, None);
            let bound = Timespec::new().nsec(DROP_TRY_NS);
            let _ = self.io.submitter().register_sync_cancel(Some(bound), CancelBuilder::any());
            let _ = self.call(0, 0, GETEVENTS, None);
            self.reap();
            while self.next().is_some() {}
        }
        self.in_flight == 0
    }
}

impl Uring for Ring {
    fn enter(&mut self, wait: Wait) -> Result<(), RingError> {
        let timeout =
            wait.timeout_ns.map(|ns| Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32));
        self.commit();
        loop {
            self.flush_backlog();
            let queued = self.io.submission().len() as u32;
            let min = if self.backlog.is_empty() { wait.min } else { 0 };
            let result = self.call(queued, min, self.enter_flags, timeout.as_ref().filter(|_| min > 0));
            let taken = self.judge(result)?;
            if self.backlog.is_empty() || taken == 0 {
                break;
            }
        }
        self.let_go_of_held();
        self.reap();
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Option<Completion> {
        while let Some(entry) = self.batch.get(self.popped).cloned() {
            self.popped += 1;
            self.counters.completions += 1;
            if let Some(done) = self.decode(&entry) {
                return Some(done);
            }
        }
        None
    }

    fn accept(&mut self, key: Key, fd: RawFd) {
        self.push(op::accept(key, fd));
    }

    fn recv(&mut self, key: Key, fd: RawFd) {
        self.push(op::recv(key, fd, BUFFER_GROUP));
    }

    fn connect(&mut self, key: Key, fd: RawFd, addr: SockAddr) {
        let addr = Box::new(addr);
        let entry = op::connect(key, fd, &addr);
        self.held.push(Held::Addr { _addr: addr });
        self.push(entry);
    }

    fn send(&mut self, key: Key, fd: RawFd, out: Out) {
        let slot = key.slot();
        if self.sending.len() <= slot {
            self.sending.resize_with(slot + 1, || None);
        }
        assert!(self.sending[slot].is_none(), "slot {slot} has a send in flight already");
        let entry = op::send(key, fd, out.unsent());
        // Moving `out` leaves its bytes where they are: they are on the heap and nobody can append to them from here on.
        self.sending[slot] = Some(Sending { token: Token::new(Op::Send, key), out, done: false });
        self.push(entry);
    }

    fn take_out(&mut self, key: Key) -> Option<Out> {
        let place = self.sending.get_mut(key.slot())?;
        let done = place.as_ref().is_some_and(|sending| sending.done && sending.token.key() == key);
        if done { place.take().map(|sending| sending.out) } else { None }
    }

    fn close(&mut self, key: Key, fd: OwnedFd) {
        self.push(op::close(key, fd.into_raw_fd()));
    }

    fn cancel(&mut self, key: Key, op: Op) {
        self.push(op::cancel(key, op));
    }

    fn wake_on(&mut self, key: Key, fd: RawFd) {
        self.push(op::wake_on(key, fd));
    }

    fn tick(&mut self, key: Key, at_ns: u64) {
        let mut time = self.spare_times.pop().unwrap_or_default();
        *time = Timespec::new().sec(at_ns / 1_000_000_000).nsec((at_ns % 1_000_000_000) as u32);
        let entry = op::tick(key, &time);
        self.held.push(Held::Time(time));
        self.push(entry);
    }

    #[inline]
    fn bytes(&self, id: &BufId) -> &[u8] {
        self.bufs.as_ref().map_or(&[], |bufs| bufs.bytes(id))
    }

    #[inline]
    fn release(&mut self, id: BufId) {
        if let Some(bufs) = &mut self.bufs {
            bufs.release(id);
        }
    }

    #[inline]
    fn commit(&mut self) {
        if let Some(bufs) = &mut self.bufs {
            bufs.commit();
        }
    }

    fn free_buffers(&self) -> usize {
        self.bufs.as_ref().map_or(0, BufRing::free)
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.end_all() {
            // The kernel still holds on to something. Losing the memory is the lesser evil: it may yet write to it.
            std::mem::forget(self.bufs.take());
            std::mem::forget(std::mem::take(&mut self.sending));
        }
        if let Some(index) = self.registered {
            unregister_ring_fd(self.io.as_raw_fd(), index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Ring {
        Ring::new(&RingConfig { entries: 64, cq_entries: 256, buffers: 0, ..RingConfig::default() }).expect("a ring")
    }

    #[test]
    fn t3_the_registered_descriptor_is_really_used() {
        let mut ring = ring();
        assert!(ring.setup().registered_fd, "{}", ring.setup());
        // With another file under its number the ring can be reached by its registered index only.
        let other = std::fs::File::open("/dev/null").expect("open");
        // SAFETY: replaces the file behind a number that this ring owns and will close itself; the kernel keeps the ring
        // alive through the registration.
        let number = unsafe { libc::dup2(other.as_raw_fd(), ring.io.as_raw_fd()) };
        assert_eq!(number, ring.io.as_raw_fd());
        ring.tick(Key::new(1, 0), 0);
        ring.enter(Wait::BLOCK).expect("enter by index");
        let done = ring.next().expect("a completion");
        assert_eq!((done.op(), done.result), (Op::Tick, Ok(0)));
    }

    #[test]
    fn a_busy_kernel_and_an_interruption_are_no_errors() {
        let mut ring = ring();
        for errno in [libc::EINTR, libc::ETIME, libc::EBUSY, libc::EAGAIN] {
            assert_eq!(ring.judge(Err(Errno(errno))).expect("goes on"), 0);
        }
        assert_eq!(ring.counters().busy, 2);
        assert!(matches!(ring.judge(Err(Errno(libc::EBADR))), Err(RingError::Lost { .. })));
        assert!(matches!(ring.judge(Err(Errno(libc::EEXIST))), Err(RingError::Call { .. })));
    }
}
