//! Wakes a thread that waits in the kernel, from any other thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd (`eventfd(2)`): readable from the first [`Waker::wake`] until [`Waker::drain`]. Clones share it.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A waker that nobody has used.
    ///
    /// # Errors
    /// Those of `eventfd(2)`: no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(fd)))
    }

    /// Makes the descriptor readable. Several wakes before a drain count as one.
    pub fn wake(&self) {
        // The only way to fail is a counter that is full, and then the descriptor is readable already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// What to wait on for readability. It stays open as long as any clone lives.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Makes the descriptor unreadable until the next wake. Never blocks.
    pub fn drain(&self) {
        // `EAGAIN` says that there was nothing to drain.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(waker: &Waker) -> bool {
        let fd = waker.fd();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn readable_from_a_wake_to_a_drain() {
        let waker = Waker::new().unwrap();
        assert!(!is_readable(&waker));
        waker.drain();
        waker.clone().wake();
        waker.wake();
        assert!(is_readable(&waker));
        waker.drain();
        assert!(!is_readable(&waker));
    }
}
