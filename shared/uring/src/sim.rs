//! A scripted ring: the kernel's part is played by a test.
//!
//! It has the same methods as [`Ring`](crate::Ring) and the same rules of ownership, and keeps what it was asked for in
//! [`Sim::asked`]. The test answers with [`Sim::complete`] and its shorthands in whatever order it likes: short sends, a
//! receive that ends without cause, ENOBUFS, completions that come after their connection has gone.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::bufring::{BufId, BufRing};
use crate::completion::Completion;
use crate::errno::Errno;
use crate::error::RingError;
use crate::out::Out;
use crate::token::{Key, Op, Token};
use crate::{Counters, SockAddr, Uring, Wait};

/// What the engine asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Operation and owner.
    pub token: Token,
    /// Descriptor, where the operation has one.
    pub fd: RawFd,
    /// Bytes to send.
    pub bytes: Vec<u8>,
    /// For [`Op::Cancel`]: what is to end. For [`Op::Tick`]: nothing.
    pub target: Option<Op>,
    /// For [`Op::Tick`]: when, on CLOCK_MONOTONIC.
    pub at_ns: u64,
}

/// A ring without a kernel.
pub struct Sim {
    bufs: BufRing,
    next_bid: u16,
    sending: Vec<Option<(Token, Out, bool)>>,
    ready: VecDeque<Completion>,
    /// What the engine asked for and the test has not looked at yet, in order.
    pub asked: VecDeque<Asked>,
    /// Descriptors that the engine closed on the ring.
    pub closed: Vec<RawFd>,
    /// What `enter` returns next, once; `None` is success.
    pub fail_enter: Option<RingError>,
    counters: Counters,
}

impl Sim {
    /// A ring with `buffers` receive buffers (a power of two) of `buffer_len_bytes` each, padding included.
    #[must_use]
    pub fn new(buffers: u16, buffer_len_bytes: u32) -> Self {
        Self {
            bufs: BufRing::new(buffers, buffer_len_bytes),
            next_bid: 0,
            sending: Vec::new(),
            ready: VecDeque::new(),
            asked: VecDeque::new(),
            closed: Vec::new(),
            fail_enter: None,
            counters: Counters::default(),
        }
    }

    fn ask(&mut self, op: Op, key: Key, fd: RawFd) -> &mut Asked {
        self.asked.push_back(Asked { token: Token::new(op, key), fd, bytes: Vec::new(), target: None, at_ns: 0 });
        self.counters.submitted += 1;
        let last = self.asked.len() - 1;
        &mut self.asked[last]
    }

    /// The oldest request of kind `op`, taken out of [`asked`](Self::asked).
    pub fn take(&mut self, op: Op) -> Option<Asked> {
        let at = self.asked.iter().position(|asked| asked.token.op() == op)?;
        self.asked.remove(at)
    }

    /// Answers with any result, without buffer or descriptor.
    pub fn complete(&mut self, token: Token, result: Result<u32, Errno>, more: bool) {
        match (token.op(), result) {
            (Op::Recv, Err(Errno::NO_BUFFERS)) => self.counters.no_buffers += 1,
            (Op::Send, _) => {
                if let Some(Some((sent, _, done))) = self.sending.get_mut(token.key().slot()) {
                    *done |= *sent == token;
                }
            }
            _ => {}
        }
        self.ready.push_back(Completion { token, result, more, buffer: None, fd: None });
    }

    /// Brings a connection.
    pub fn accepted(&mut self, token: Token, fd: OwnedFd, more: bool) {
        let result = Ok(fd.as_raw_fd() as u32);
        self.ready.push_back(Completion { token, result, more, buffer: None, fd: Some(fd) });
    }

    /// Brings data for a receive, in a buffer that is free.
    ///
    /// Returns false, and answers ENOBUFS as the kernel would, when no buffer is free.
    ///
    /// # Panics
    /// When the data is longer than a buffer: the kernel would never do that.
    pub fn received(&mut self, token: Token, data: &[u8], more: bool) -> bool {
        let Some(bid) = self.free_bid() else {
            self.complete(token, Err(Errno::NO_BUFFERS), false);
            return false;
        };
        let id = self.bufs.lend(bid, data.len() as u32).expect("free and long enough");
        self.bufs.fill(&id, data);
        self.ready.push_back(Completion { token, result: Ok(data.len() as u32), more, buffer: Some(id), fd: None });
        true
    }

    fn free_bid(&mut self) -> Option<u16> {
        let count = self.bufs.count();
        let free = (0..count).map(|n| (self.next_bid + n) % count).find(|bid| !self.bufs.is_lent(*bid))?;
        self.next_bid = (free + 1) % count;
        Some(free)
    }
}

impl Uring for Sim {
    fn enter(&mut self, _wait: Wait) -> Result<(), RingError> {
        self.counters.enters += 1;
        self.fail_enter.take().map_or(Ok(()), Err)
    }

    fn next(&mut self) -> Option<Completion> {
        let done = self.ready.pop_front()?;
        self.counters.completions += 1;
        Some(done)
    }

    fn accept(&mut self, key: Key, fd: RawFd) {
        self.ask(Op::Accept, key, fd);
    }

    fn recv(&mut self, key: Key, fd: RawFd) {
        self.ask(Op::Recv, key, fd);
    }

    fn connect(&mut self, key: Key, fd: RawFd, _addr: SockAddr) {
        self.ask(Op::Connect, key, fd);
    }

    fn send(&mut self, key: Key, fd: RawFd, out: Out) {
        let slot = key.slot();
        if self.sending.len() <= slot {
            self.sending.resize_with(slot + 1, || None);
        }
        assert!(self.sending[slot].is_none(), "slot {slot} has a send in flight already");
        self.ask(Op::Send, key, fd).bytes = out.unsent().to_vec();
        self.sending[slot] = Some((Token::new(Op::Send, key), out, false));
    }

    fn take_out(&mut self, key: Key) -> Option<Out> {
        let place = self.sending.get_mut(key.slot())?;
        let done = place.as_ref().is_some_and(|(token, _, done)| *done && token.key() == key);
        if done { place.take().map(|(_, out, _)| out) } else { None }
    }

    fn close(&mut self, key: Key, fd: OwnedFd) {
        self.closed.push(fd.as_raw_fd());
        self.ask(Op::Close, key, fd.as_raw_fd());
    }

    fn cancel(&mut self, key: Key, op: Op) {
        self.ask(Op::Cancel, key, -1).target = Some(op);
    }

    fn wake_on(&mut self, key: Key, fd: RawFd) {
        self.ask(Op::Wake, key, fd);
    }

    fn tick(&mut self, key: Key, at_ns: u64) {
        self.ask(Op::Tick, key, -1).at_ns = at_ns;
    }

    fn bytes(&self, id: &BufId) -> &[u8] {
        self.bufs.bytes(id)
    }

    fn release(&mut self, id: BufId) {
        self.bufs.release(id);
    }

    fn commit(&mut self) {
        self.bufs.commit();
    }

    fn free_buffers(&self) -> usize {
        self.bufs.free()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::new(3, 1);

    #[test]
    fn a_send_keeps_its_buffer_until_its_own_completion() {
        let mut sim = Sim::new(2, 256);
        let mut out = Out::default();
        out.buf().extend_from_slice(b"hello");
        sim.send(KEY, 9, out);
        let asked = sim.take(Op::Send).expect("asked");
        assert_eq!((asked.fd, asked.bytes.as_slice()), (9, &b"hello"[..]));
        assert!(sim.take_out(KEY).is_none(), "in flight");
        sim.complete(Token::new(Op::Send, Key::new(3, 0)), Ok(5), false);
        assert!(sim.take_out(KEY).is_none(), "a late completion of the slot's former tenant is not ours");
        sim.complete(asked.token, Ok(2), false);
        let mut out = sim.take_out(KEY).expect("done");
        assert!(!out.advance(2));
        assert_eq!(out.unsent(), b"llo");
    }

    #[test]
    #[should_panic(expected = "in flight already")]
    fn two_sends_in_one_slot_are_refused() {
        let mut sim = Sim::new(2, 256);
        sim.send(KEY, 9, Out::default());
        sim.send(KEY, 9, Out::default());
    }

    #[test]
    fn data_comes_in_buffers_until_none_is_free() {
        let mut sim = Sim::new(2, 256);
        let token = Token::new(Op::Recv, KEY);
        assert!(sim.received(token, b"a", true));
        assert!(sim.received(token, b"b", true));
        assert!(!sim.received(token, b"c", true), "all lent");
        let first = sim.next().expect("ready").buffer.expect("data");
        assert_eq!(sim.bytes(&first), b"a");
        let second = sim.next().expect("ready").buffer.expect("data");
        let ended = sim.next().expect("ready");
        assert_eq!((ended.result, ended.more), (Err(Errno::NO_BUFFERS), false));
        sim.release(first);
        assert!(sim.received(token, b"d", true));
        let third = sim.next().expect("ready").buffer.expect("data");
        assert_eq!((sim.bytes(&second), sim.bytes(&third)), (&b"b"[..], &b"d"[..]));
        sim.release(second);
        sim.release(third);
        assert_eq!((sim.free_buffers(), sim.counters().no_buffers), (2, 1));
    }
}
