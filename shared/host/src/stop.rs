//! How a program is asked to end: a flag that the workers look at, and wakers for those that sleep.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::wake::Waker;

/// The exit code after a second signal: the shell's for a program that `SIGINT` ended.
pub const EXIT_INTERRUPTED: i32 = 130;

/// A request to end, shared by its clones. It can't be taken back.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    requested: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Stop {
    /// Nothing is asked for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every worker to end, and wakes those that have registered.
    pub fn request(&self) {
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        // Stored under the lock: a waker that registers later sees the flag, one that registered earlier is woken below.
        self.0.requested.store(true, Ordering::Release);
        wakers.iter().for_each(Waker::wake);
    }

    /// Whether the end was asked for. One load: cheap enough for every turn of a loop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Acquire)
    }

    /// Wakes `waker` when the end is asked for; at once when it already was.
    pub fn register(&self, waker: Waker) {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_requested() {
            waker.wake();
        }
        wakers.push(waker);
    }
}

/// Turns the first `SIGINT` or `SIGTERM` into a stop request. A second one ends the process at once with [`EXIT_INTERRUPTED`], for
/// those who don't want to wait until everything in flight is done.
///
/// # Errors
/// Those of `sigaction(2)`, of making a pipe and of starting the thread that waits for the signals.
pub fn on_signals(stop: &Stop) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut is_second = false;
        for _ in signals.forever() {
            if is_second {
                signal_hook::low_level::exit(EXIT_INTERRUPTED);
            }
            is_second = true;
            stop.request();
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn wait(waker: &Waker) {
        let fd = waker.fd();
        let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)).unwrap(), 1, "nobody woke the waker");
    }

    #[test]
    fn wakes_those_who_registered_before_and_after() {
        let stop = Stop::new();
        let (before, after) = (Waker::new().unwrap(), Waker::new().unwrap());
        stop.register(before.clone());
        assert!(!stop.is_requested());
        stop.clone().request();
        assert!(stop.is_requested());
        stop.register(after.clone());
        wait(&before);
        wait(&after);
    }

    #[test]
    fn a_signal_requests_the_stop() {
        let (stop, waker) = (Stop::new(), Waker::new().unwrap());
        stop.register(waker.clone());
        on_signals(&stop).unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        wait(&waker);
        assert!(stop.is_requested());
    }
}
