//! One preparation a kind of operation: what exactly is asked of the kernel.

use std::os::fd::RawFd;

use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, TimeoutFlags, Timespec};

use crate::token::{Key, Op, Token};

fn tagged(entry: Entry, op: Op, key: Key) -> Entry {
    entry.user_data(Token::new(op, key).bits())
}

/// Multishot accept (since 5.19). Without SOCK_NONBLOCK: on such a socket the ring would report EAGAIN instead of waiting.
pub(crate) fn accept(key: Key, fd: RawFd) -> Entry {
    tagged(opcode::AcceptMulti::new(Fd(fd)).flags(libc::SOCK_CLOEXEC).build(), Op::Accept, key)
}

/// Multishot receive into buffer group `group` (since 6.0).
pub(crate) fn recv(key: Key, fd: RawFd, group: u16) -> Entry {
    tagged(opcode::RecvMulti::new(Fd(fd), group).build(), Op::Recv, key)
}

/// MSG_WAITALL lets the kernel go on with a short send by itself (T9); a send can still be short when the peer goes away
/// or when it is cancelled. MSG_NOSIGNAL: a peer that went away is an EPIPE, not a signal for the whole process.
pub(crate) fn send(key: Key, fd: RawFd, bytes: &[u8]) -> Entry {
    let len = bytes.len().min(i32::MAX as usize) as u32;
    let send = opcode::Send::new(Fd(fd), bytes.as_ptr(), len).flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL);
    tagged(send.build(), Op::Send, key)
}

/// Connect. The kernel copies the address while it takes the entry (FEAT_SUBMIT_STABLE, since 5.5).
pub(crate) fn connect(key: Key, fd: RawFd, addr: &socket2::SockAddr) -> Entry {
    tagged(opcode::Connect::new(Fd(fd), addr.as_ptr().cast(), addr.len()).build(), Op::Connect, key)
}

/// Close on the ring: it keeps its place behind what was queued before, and costs no call of its own.
pub(crate) fn close(key: Key, fd: RawFd) -> Entry {
    tagged(opcode::Close::new(Fd(fd)).build(), Op::Close, key)
}

/// Cancel by user_data: a cancel by descriptor could hit the next owner of that number.
pub(crate) fn cancel(key: Key, op: Op) -> Entry {
    tagged(opcode::AsyncCancel::new(Token::new(op, key).bits()).build(), Op::Cancel, key)
}

/// One-shot poll for readability.
pub(crate) fn wake_on(key: Key, fd: RawFd) -> Entry {
    tagged(opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32).build(), Op::Wake, key)
}

/// Absolute time-out on CLOCK_MONOTONIC. The kernel copies the time while it takes the entry.
pub(crate) fn tick(key: Key, at: &Timespec) -> Entry {
    tagged(opcode::Timeout::new(at).flags(TimeoutFlags::ABS).build(), Op::Tick, key)
}
