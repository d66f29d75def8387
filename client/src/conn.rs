//! One place for a connection: its state, what is in flight on it, and since when. Changes of state happen here only.
//!
//! ```text
//!             connect           established        answered, announced close
//!  Resting ------------> Connecting -------> Open ---------------------------> Parting
//!     ^                       |               |                                    | the server's FIN, or PARTING
//!     |                       v               v                                    v
//!     +---------------------- Closing <--------------------------------------------+
//!        closed on the ring            (waits until nothing is in flight)
//! ```
//! The place outlives its connections: each new one gets a new key, so completions of the one before find nothing.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use ringshot_uring::Out;

use crate::session::Session;

/// Pause after the first failure in a row; it doubles with each further one.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(10);
/// Longest pause between two attempts.
pub const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// How long the server may take to close a connection whose end was announced. Whoever closes first keeps the port busy
/// for a minute (TIME_WAIT), so it should be the server; but it can't be made to.
pub const PARTING: Duration = Duration::from_millis(100);

/// What a place does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is open. The next attempt is due at `since_ns`.
    Resting,
    /// A connect is in flight.
    Connecting,
    /// Requests go out and responses come in.
    Open,
    /// The last response has come; the server's FIN has not.
    Parting,
    /// Waits until nothing is in flight, then for the close.
    Closing,
}

/// Which operations the kernel has not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Armed {
    /// Connect.
    pub connect: bool,
    /// Multishot receive.
    pub recv: bool,
    /// Send; the ring has the buffer.
    pub send: bool,
    /// Close.
    pub close: bool,
}

/// See the module.
pub struct Conn {
    state: State,
    /// When the state was entered; when it is left again for [`State::Resting`].
    since_ns: u64,
    /// The socket, until it is handed to the ring to be closed.
    pub fd: Option<OwnedFd>,
    /// The protocol.
    pub session: Session,
    /// The send buffer, while the ring doesn't have it.
    pub out: Option<Out>,
    /// What the kernel has not finished.
    pub armed: Armed,
    /// Whether a receive waits for buffers.
    pub parked: bool,
    /// Whether the engine has noted to fill it up.
    pub fill_is_due: bool,
    /// Whether a send failed: no request is written here any more.
    pub sealed: bool,
    /// Requests that count as started and have not been written: the one for which a connection is made.
    pub owed: u32,
    /// When the outstanding requests were handed to the kernel, oldest first. Invariant: as many as the session has
    /// outstanding, and the last `departing` of them have no time yet.
    departures_ns: VecDeque<u64>,
    departing: usize,
    /// Responses on this connection.
    pub answered_here: u64,
    /// Responses at this place.
    pub answered: u64,
    failures: u32,
    /// Connections so far at this place.
    pub connections: u64,
}

impl Conn {
    /// A place whose first attempt is due at once. `pipeline` is the most requests in flight.
    #[must_use]
    pub fn new(session: Session, out: Out, pipeline: u32) -> Self {
        Self {
            state: State::Resting,
            since_ns: 0,
            fd: None,
            session,
            out: Some(out),
            armed: Armed::default(),
            parked: false,
            sealed: false,
            fill_is_due: false,
            owed: 0,
            departures_ns: VecDeque::with_capacity(pipeline as usize),
            departing: 0,
            answered_here: 0,
            answered: 0,
            failures: 0,
            connections: 0,
        }
    }

    /// What the place does.
    #[must_use]
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Since when; for [`State::Resting`], until when.
    #[must_use]
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Changes the state.
    pub fn enter(&mut self, state: State, since_ns: u64) {
        let legal = match state {
            State::Resting => self.state == State::Closing && self.armed == Armed::default() && self.fd.is_none(),
            State::Connecting => self.state == State::Resting,
            State::Open => self.state == State::Connecting && !self.armed.connect,
            State::Parting => self.state == State::Open && self.departures_ns.is_empty(),
            State::Closing => self.state != State::Closing && self.departures_ns.is_empty() && self.owed == 0,
        };
        debug_assert!(legal, "{:?} to {state:?} with {:?}", self.state, self.armed);
        self.state = state;
        self.since_ns = since_ns;
    }

    /// The descriptor for a submission. None is in use from Closing on, where nothing is submitted on it any more.
    #[must_use]
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, OwnedFd::as_raw_fd)
    }

    /// Whether the kernel may still touch something of this connection, the close aside.
    #[must_use]
    pub fn in_flight(&self) -> bool {
        self.armed.connect || self.armed.recv || self.armed.send
    }

    /// `n` requests are in the buffer that goes to the kernel with the next enter.
    pub fn depart(&mut self, n: u32) {
        self.session.requested(n);
        self.departing += n as usize;
        self.departures_ns.extend(std::iter::repeat_n(0, n as usize));
    }

    /// Now they go.
    #[inline]
    pub fn departed(&mut self, now_ns: u64) {
        let from = self.departures_ns.len().saturating_sub(self.departing);
        self.departures_ns.range_mut(from..).for_each(|at_ns| *at_ns = now_ns);
        self.departing = 0;
    }

    /// Takes the oldest outstanding request out. Returns when it was handed to the kernel; `None` when it never was.
    ///
    /// Whoever takes one out says how it ended.
    #[inline]
    pub fn settle(&mut self) -> Option<Option<u64>> {
        let at_ns = self.departures_ns.pop_front()?;
        if self.departures_ns.len() >= self.departing {
            return Some(Some(at_ns));
        }
        self.departing -= 1;
        Some(None)
    }

    /// When the oldest outstanding request was handed to the kernel.
    #[must_use]
    pub fn oldest_ns(&self) -> Option<u64> {
        if self.departures_ns.len() > self.departing { self.departures_ns.front().copied() } else { None }
    }

    /// Requests written and not answered.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> u32 {
        // Bounded by the pipeline depth, a u32.
        self.departures_ns.len() as u32
    }

    /// A response came.
    #[inline]
    pub fn note_answer(&mut self) {
        self.answered_here += 1;
        self.answered += 1;
        self.failures = 0;
    }

    /// The connection ended in disorder. It counts against the place unless it had carried a response: then the server
    /// is there, and the next attempt need not wait.
    pub fn note_failure(&mut self) {
        if self.answered_here == 0 {
            self.failures += 1;
        }
    }

    /// Failures in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// How long to wait before the next attempt.
    #[must_use]
    pub fn backoff(&self) -> Duration {
        match self.failures {
            0 => Duration::ZERO,
            n => BACKOFF_FIRST.saturating_mul(1u32 << (n - 1).min(16)).min(BACKOFF_MAX),
        }
    }

    /// Makes the place ready for its next connection, which may begin at `due_ns`.
    pub fn renew(&mut self, due_ns: u64) {
        self.enter(State::Resting, due_ns);
        self.session.reset();
        self.answered_here = 0;
        self.parked = false;
        self.sealed = false;
        self.fill_is_due = false;
    }
}

#[cfg(test)]
mod tests {
    use ringshot_http1::{Limits, Method};

    use super::*;

    fn conn() -> Conn {
        Conn::new(Session::new(Method::Get, Limits::DEFAULT, false), Out::default(), 4)
    }

    #[test]
    fn each_pipelined_request_has_its_own_departure() {
        let mut conn = conn();
        conn.depart(2);
        assert_eq!((conn.outstanding(), conn.oldest_ns()), (2, None));
        conn.departed(100);
        conn.depart(1);
        assert_eq!(conn.oldest_ns(), Some(100));
        assert_eq!(conn.settle(), Some(Some(100)));
        conn.departed(200);
        conn.depart(1);
        assert_eq!([conn.settle(), conn.settle(), conn.settle()], [Some(Some(100)), Some(Some(200)), Some(None)]);
        assert_eq!(conn.settle(), None);
        conn.depart(1);
        conn.departed(300);
        assert_eq!(conn.oldest_ns(), Some(300), "nothing is left over of the ones that never departed");
    }

    #[test]
    fn pauses_double_up_to_their_bound_and_end_with_an_answer() {
        let mut conn = conn();
        assert_eq!(conn.backoff(), Duration::ZERO);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            conn.note_failure();
            pauses.push(conn.backoff().as_millis());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        conn.note_answer();
        assert_eq!((conn.failures(), conn.backoff()), (0, Duration::ZERO));
        conn.note_failure();
        assert_eq!(conn.failures(), 0, "this connection had carried a response");
    }
}
