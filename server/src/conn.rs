//! The life of one connection, whichever engine serves it. The only place where its state changes.
//!
//! ```text
//!          session says Close          all sent: shutdown(WR)         peer closed, or bound reached
//!   Open ───────────────────► Flushing ────────────────────► Lingering ───────────────────────────► Closing ──► Closed
//!    └── socket error, write deadline, cut off ──────────────────────────────────────────────────────► │
//! ```
//! An engine reports events (`received`, `sent`, `expired`, …) and then does what [`Conn::next`] hands out until it hands out
//! nothing. Each act is handed out once. Closing is a state, not an event: what is in flight is cancelled and waited for
//! before the descriptor goes, so that no completion can meet a successor.
//!
//! The close is staged (RFC 9112 section 9.6): after the last answer only our side is shut down, and what the peer still
//! sends is read and dropped, within bounds. Closing at once with unread input would make the kernel send a reset that can
//! destroy the answer before the peer has read it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ringshot_uring::Out;

use crate::limits::Limits;
use crate::session::{Context, Next, Phase, Session};

/// Memory of an output that is kept from one send to the next.
const KEEP_OUT_BYTES: usize = 16 * 1024;

/// Input that may wait in a blocked session before receiving stops. Most blocks are over sooner, and stopping costs two
/// operations of the ring.
const BLOCKED_READ_BYTES: usize = 64 * 1024;

/// A draining server gives a connection that has not sent a byte this long for its first request.
const DRAIN_FRESH_NS: u64 = 1_000_000_000;

/// What surrounds an event: the same for all events of a batch.
pub struct Moment<'a> {
    /// For the session.
    pub ctx: Context<'a>,
    /// CLOCK_MONOTONIC.
    pub now_ns: u64,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
}

/// Where in its life a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Requests are read and answered.
    Open,
    /// The last answer is on its way; input is dropped.
    Flushing,
    /// Our side is shut down; waiting for the peer to close.
    Lingering,
    /// Nothing is started any more; waiting for what is in flight.
    Closing,
    /// The descriptor has been handed out to be closed.
    Closed,
}

/// The one receive of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// None; [`Conn::next`] asks for one when input is wanted.
    Off,
    /// In force.
    Armed,
    /// Asked to end; its end is still to come.
    Stopping,
    /// Ended because no buffer was free; the engine asks again when there is one.
    Parked,
}

/// What an engine is to do next.
#[derive(Debug)]
pub enum Act {
    /// Start receiving; report with [`Conn::received`], [`Conn::ended`] or [`Conn::failed`], and [`Conn::recv_off`] when the
    /// receive is over for whatever reason.
    Recv,
    /// Stop receiving, then report [`Conn::recv_off`].
    StopRecv,
    /// Send all of it; report with [`Conn::sent_some`], and [`Conn::sent`] when the buffer is free again.
    Send(Out),
    /// Abandon the send that is in flight, then report [`Conn::sent`].
    StopSend,
    /// Shut down our side of the socket.
    ShutdownWrite,
    /// Close the socket. Nothing is in flight.
    Close {
        /// The descriptor.
        fd: OwnedFd,
        /// Send a reset instead of lingering on unsent data (SO_LINGER 0).
        abort: bool,
    },
}

/// A connection.
pub struct Conn {
    fd: Option<OwnedFd>,
    session: Session,
    state: State,
    reading: Reading,
    /// One send at most is in flight: two could be reordered. Cleared by `sent` alone.
    sending: bool,
    stopping_send: bool,
    /// The session's output has reached its bound.
    blocked: bool,
    /// The peer has shut down its side.
    ended: bool,
    abort: bool,
    /// What the session writes to.
    filling: Out,
    /// The empty buffer that takes its place when it is sent.
    spare: Out,
    dropped_bytes: u64,
    /// The session's phase and since when, to tell which deadline applies.
    phase: (Phase, u32),
    since_ns: u64,
    /// Since when the peer has taken nothing of what is being sent.
    stalled_since_ns: u64,
}

impl Conn {
    /// A connection that was just accepted.
    #[must_use]
    pub fn new(fd: OwnedFd, now_ns: u64) -> Self {
        Self::build(Some(fd), now_ns)
    }

    fn build(fd: Option<OwnedFd>, now_ns: u64) -> Self {
        Self {
            fd,
            session: Session::new(),
            state: State::Open,
            reading: Reading::Off,
            sending: false,
            stopping_send: false,
            blocked: false,
            ended: false,
            abort: false,
            filling: Out::default(),
            spare: Out::default(),
            dropped_bytes: 0,
            phase: (Phase::Fresh, 0),
            since_ns: now_ns,
            stalled_since_ns: now_ns,
        }
    }

    /// A connection whose socket belongs to the engine. It hands out no [`Act::Close`]: the engine closes when the state is
    /// [`State::Closed`], with a reset when it [`aborts`](Self::aborts).
    #[must_use]
    pub fn unowned(now_ns: u64) -> Self {
        Self::build(None, now_ns)
    }

    /// Whether the close is to send a reset instead of lingering on unsent data.
    #[must_use]
    pub fn aborts(&self) -> bool {
        self.abort
    }

    /// Takes over for a new connection and keeps the memory of its buffers.
    #[must_use]
    pub fn reuse(mut self, fd: OwnedFd, now_ns: u64) -> Self {
        self.session.reset();
        self.filling.clear(KEEP_OUT_BYTES);
        self.spare.clear(KEEP_OUT_BYTES);
        Self { session: self.session, filling: self.filling, spare: self.spare, ..Self::new(fd, now_ns) }
    }

    /// The socket, until it was handed out to be closed.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Where in its life it is.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes have arrived.
    pub fn received(&mut self, moment: &mut Moment<'_>, bytes: &[u8]) {
        moment.ctx.tally.traffic.received += bytes.len() as u64;
        match self.state {
            State::Open => {
                let next = self.session.advance(&mut moment.ctx, bytes, self.filling.buf());
                self.follow(next, moment.now_ns);
            }
            State::Flushing | State::Lingering => {
                self.dropped_bytes += bytes.len() as u64;
                if self.dropped_bytes > moment.limits.max_linger.0 {
                    self.state = State::Closing;
                }
            }
            State::Closing | State::Closed => {}
        }
    }

    /// The peer has shut down its side.
    pub fn ended(&mut self, moment: &mut Moment<'_>) {
        self.ended = true;
        match self.state {
            State::Open => {
                let next = self.session.end_of_input(&mut moment.ctx, self.filling.buf());
                self.follow(next, moment.now_ns);
            }
            State::Lingering => self.state = State::Closing,
            State::Flushing | State::Closing | State::Closed => {}
        }
    }

    /// The receive is over; a new one is asked for when input is still wanted.
    pub fn recv_off(&mut self) {
        self.reading = Reading::Off;
    }

    /// The receive is over because no buffer was free. None is asked for until [`unpark`](Self::unpark).
    pub fn park(&mut self) {
        self.reading = Reading::Parked;
    }

    /// A buffer is free again.
    pub fn unpark(&mut self) {
        if self.reading == Reading::Parked {
            self.reading = Reading::Off;
        }
    }

    /// The peer has taken a part of what is being sent.
    pub fn sent_some(&mut self, moment: &mut Moment<'_>, len_bytes: usize) {
        moment.ctx.tally.traffic.sent += len_bytes as u64;
        self.stalled_since_ns = moment.now_ns;
    }

    /// The send is over: all of it has left, or it was abandoned. `out` comes back for its memory.
    pub fn sent(&mut self, moment: &mut Moment<'_>, mut out: Out) {
        out.clear(KEEP_OUT_BYTES);
        self.spare = out;
        self.sending = false;
        if self.blocked && self.state == State::Open {
            let next = self.session.advance(&mut moment.ctx, b"", self.filling.buf());
            self.follow(next, moment.now_ns);
        }
    }

    /// The socket has failed. `reset` says that the peer did it (ECONNRESET, EPIPE).
    pub fn failed(&mut self, moment: &mut Moment<'_>, reset: bool) {
        if matches!(self.state, State::Closing | State::Closed) {
            return;
        }
        // A peer that resets after our last answer has read it or does not want it.
        if self.state != State::Lingering {
            let errors = &mut moment.ctx.tally.errors;
            if reset { errors.reset += 1 } else { errors.socket += 1 }
        }
        self.state = State::Closing;
    }

    /// The server is stopping: a connection between two requests is closed, any other one after its answer.
    pub fn drain(&mut self) {
        let idle = self.session.phase() == Phase::Idle && !self.sending && self.filling.is_empty();
        if self.state == State::Open && idle {
            self.state = State::Flushing;
        }
    }

    /// The grace time is over.
    pub fn cut(&mut self, moment: &mut Moment<'_>) {
        if !matches!(self.state, State::Closing | State::Closed) {
            moment.ctx.tally.connections.cut += u64::from(self.state != State::Lingering);
            self.abort = self.state != State::Lingering;
            self.state = State::Closing;
        }
    }

    /// When [`expired`](Self::expired) has something to do, if nothing happens before; `None` while that can't be.
    #[must_use]
    pub fn deadline_ns(&self, limits: &Limits, draining: bool) -> Option<u64> {
        match self.state {
            State::Open => {
                [self.write_deadline_ns(limits), self.read_deadline_ns(limits, draining)].into_iter().flatten().min()
            }
            State::Flushing => self.write_deadline_ns(limits),
            State::Lingering => Some(self.since_ns.saturating_add(limits.linger_timeout.as_ns())),
            State::Closing | State::Closed => None,
        }
    }

    /// The deadline has passed.
    pub fn expired(&mut self, moment: &mut Moment<'_>) {
        let stalled = self.write_deadline_ns(moment.limits).is_some_and(|deadline| deadline <= moment.now_ns);
        match self.state {
            State::Open | State::Flushing if stalled => {
                moment.ctx.tally.errors.write_timeout += 1;
                self.abort = true;
                self.state = State::Closing;
            }
            State::Open => {
                let next = self.session.expire(&mut moment.ctx, self.filling.buf());
                self.follow(next, moment.now_ns);
            }
            State::Lingering => self.state = State::Closing,
            State::Flushing | State::Closing | State::Closed => {}
        }
    }

    /// What to do next; each act once. `None`: wait for an event.
    #[inline]
    pub fn next(&mut self, moment: &mut Moment<'_>) -> Option<Act> {
        match self.state {
            State::Open | State::Flushing if !self.sending && !self.filling.is_empty() => {
                return Some(self.send(moment));
            }
            State::Flushing if !self.sending => return Some(self.shut_down(moment)),
            State::Closing => return self.wind_up(),
            State::Closed => return None,
            State::Open | State::Flushing | State::Lingering => {}
        }
        match (self.reading, self.wants_input()) {
            (Reading::Off, true) => {
                self.reading = Reading::Armed;
                Some(Act::Recv)
            }
            (Reading::Armed, false) => self.stop_recv(),
            _ => None,
        }
    }

    fn send(&mut self, moment: &Moment<'_>) -> Act {
        self.sending = true;
        self.stalled_since_ns = moment.now_ns;
        Act::Send(std::mem::replace(&mut self.filling, std::mem::take(&mut self.spare)))
    }

    /// All is sent. A peer that has ended already needs no waiting for.
    fn shut_down(&mut self, moment: &Moment<'_>) -> Act {
        self.state = if self.ended { State::Closing } else { State::Lingering };
        self.since_ns = moment.now_ns;
        Act::ShutdownWrite
    }

    fn stop_recv(&mut self) -> Option<Act> {
        self.reading = Reading::Stopping;
        Some(Act::StopRecv)
    }

    /// Ends what is in flight, one act at a time, then hands out the descriptor.
    fn wind_up(&mut self) -> Option<Act> {
        if self.reading == Reading::Armed {
            return self.stop_recv();
        }
        if self.sending && !self.stopping_send {
            self.stopping_send = true;
            return Some(Act::StopSend);
        }
        if self.sending || self.reading == Reading::Stopping {
            return None;
        }
        self.state = State::Closed;
        self.fd.take().map(|fd| Act::Close { fd, abort: self.abort })
    }

    fn wants_input(&self) -> bool {
        !self.ended && (!self.blocked || self.session.waiting_bytes() < BLOCKED_READ_BYTES)
    }

    /// Does what the session said, and notes when its phase began.
    #[inline]
    fn follow(&mut self, next: Next, now_ns: u64) {
        self.blocked = next == Next::Blocked;
        if next == Next::Close {
            self.state = State::Flushing;
        }
        let phase = (self.session.phase(), self.session.answered());
        if phase != self.phase {
            self.phase = phase;
            self.since_ns = now_ns;
        }
    }

    fn write_deadline_ns(&self, limits: &Limits) -> Option<u64> {
        self.sending.then(|| self.stalled_since_ns.saturating_add(limits.write_timeout.as_ns()))
    }

    /// While an answer is on its way, or the session waits for that, the peer need not send anything new.
    fn read_deadline_ns(&self, limits: &Limits, draining: bool) -> Option<u64> {
        let timeout_ns = match self.phase.0 {
            _ if self.blocked => return None,
            Phase::Idle if self.sending => return None,
            Phase::Fresh if draining => limits.first_byte_timeout.as_ns().min(DRAIN_FRESH_NS),
            Phase::Fresh => limits.first_byte_timeout.as_ns(),
            Phase::Idle => limits.idle_timeout.as_ns(),
            Phase::Head => limits.head_timeout.as_ns(),
            Phase::Body => limits.body_timeout.as_ns(),
        };
        Some(self.since_ns.saturating_add(timeout_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::App;
    use crate::config::{Machine, Options};
    use crate::tally::Tally;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const LAST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const SECOND: u64 = 1_000_000_000;

    /// A connection with an engine that only writes down what it was told to do.
    struct Bench {
        app: App,
        limits: Limits,
        tally: Tally,
        now_ns: u64,
        draining: bool,
        conn: Conn,
        sending: Option<Out>,
    }

    impl Bench {
        fn new(toml: &str) -> Self {
            let options: Options = toml::from_str(toml).expect("well-formed");
            let machine = Machine { allowed_cpus: "0".parse().expect("a list"), workers: 1 };
            let config = options.resolve(&machine).expect("usable");
            let app = App::new(&config).expect("sendable");
            let fd = std::fs::File::open("/dev/null").expect("always there").into();
            let conn = Conn::new(fd, 0);
            Self {
                app,
                limits: config.limits,
                tally: Tally::default(),
                now_ns: 0,
                draining: false,
                conn,
                sending: None,
            }
        }

        fn report(&mut self, event: impl FnOnce(&mut Conn, &mut Moment<'_>)) -> Vec<&'static str> {
            let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
            let ctx = Context { app: &self.app, date, tally: &mut self.tally, draining: self.draining };
            let moment = &mut Moment { ctx, now_ns: self.now_ns, limits: &self.limits };
            event(&mut self.conn, moment);
            let mut acts = Vec::new();
            while let Some(act) = self.conn.next(moment) {
                acts.push(match act {
                    Act::Recv => "recv",
                    Act::StopRecv => "stop recv",
                    Act::Send(out) => {
                        assert!(self.sending.replace(out).is_none(), "two sends in flight");
                        "send"
                    }
                    Act::StopSend => "stop send",
                    Act::ShutdownWrite => "shut down",
                    Act::Close { abort: false, .. } => "close",
                    Act::Close { abort: true, .. } => "abort",
                });
                assert!(acts.len() < 10, "acts without end: {acts:?}");
            }
            acts
        }

        fn received(&mut self, bytes: &[u8]) -> Vec<&'static str> {
            self.report(|conn, moment| conn.received(moment, bytes))
        }

        fn sent(&mut self) -> Vec<&'static str> {
            let out = self.sending.take().expect("a send in flight");
            self.report(|conn, moment| {
                conn.sent_some(moment, out.unsent().len());
                conn.sent(moment, out);
            })
        }

        fn deadline_s(&self) -> Option<u64> {
            self.conn.deadline_ns(&self.limits, self.draining).map(|ns| ns / SECOND)
        }

        /// Lets the deadline pass.
        fn expired(&mut self) -> Vec<&'static str> {
            self.now_ns = self.conn.deadline_ns(&self.limits, self.draining).expect("a deadline");
            self.report(|conn, moment| conn.expired(moment))
        }
    }

    #[test]
    fn answers_that_come_up_during_a_send_go_out_together() {
        let mut bench = Bench::new("");
        assert_eq!(bench.received(b""), ["recv"]);
        assert_eq!(bench.received(GET), ["send"]);
        assert!(bench.received(GET).is_empty());
        assert!(bench.received(GET).is_empty());
        let one = bench.sending.as_ref().expect("in flight").unsent().len();
        assert_eq!(bench.sent(), ["send"]);
        assert_eq!(bench.sending.as_ref().expect("in flight").unsent().len(), 2 * one);
        assert!(bench.sent().is_empty());
        assert_eq!(bench.tally.traffic.sent, 3 * one as u64);
    }

    #[test]
    fn the_close_is_staged() {
        let mut bench = Bench::new("");
        assert_eq!(bench.received(LAST), ["send", "recv"]);
        assert_eq!(bench.conn.state(), State::Flushing);
        assert!(bench.received(b"more").is_empty(), "dropped");
        assert_eq!(bench.sent(), ["shut down"]);
        assert_eq!(bench.conn.state(), State::Lingering);
        assert_eq!(bench.deadline_s(), Some(2));
        assert_eq!(bench.report(|conn, moment| conn.ended(moment)), ["stop recv"]);
        assert_eq!(bench.report(|conn, _| conn.recv_off()), ["close"]);
        assert_eq!(bench.conn.state(), State::Closed);
        assert!(bench.report(|conn, moment| conn.failed(moment, true)).is_empty());
        assert_eq!(bench.tally.errors, crate::tally::Errors::default());
    }

    #[test]
    fn lingering_is_bounded_in_time_and_bytes() {
        let mut bench = Bench::new("[limits]\nmax_linger = 10\n");
        bench.received(LAST);
        bench.sent();
        assert!(bench.received(b"0123456789").is_empty());
        assert_eq!(bench.received(b"x"), ["stop recv"]);

        let mut bench = Bench::new("");
        bench.received(LAST);
        bench.sent();
        assert_eq!(bench.expired(), ["stop recv"]);
        assert_eq!(bench.report(|conn, _| conn.recv_off()), ["close"]);
    }

    #[test]
    fn a_peer_that_half_closes_gets_its_answer_and_no_linger() {
        let mut bench = Bench::new("");
        assert_eq!(bench.received(GET), ["send", "recv"]);
        let acts = bench.report(|conn, moment| {
            conn.ended(moment);
            conn.recv_off();
        });
        assert!(acts.is_empty(), "{acts:?}");
        assert_eq!(bench.sent(), ["shut down", "close"]);
    }

    #[test]
    fn a_failed_socket_waits_for_what_is_in_flight() {
        let mut bench = Bench::new("");
        bench.received(GET);
        assert_eq!(bench.report(|conn, moment| conn.failed(moment, true)), ["stop recv", "stop send"]);
        assert!(bench.report(|conn, _| conn.recv_off()).is_empty());
        assert_eq!(bench.sent(), ["close"]);
        assert_eq!(bench.tally.errors.reset, 1);
    }

    #[test]
    fn receiving_stops_while_too_much_waits_and_goes_on_after() {
        let mut bench = Bench::new("[limits]\nmax_pipeline = 1\n");
        let many = GET.repeat(BLOCKED_READ_BYTES / GET.len() + 2);
        assert_eq!(bench.received(&many[..GET.len() * 2]), ["send", "recv"], "a short block is not worth a stop");
        assert_eq!(bench.received(&many), ["stop recv"]);
        assert!(bench.report(|conn, _| conn.recv_off()).is_empty());
        let mut acts = bench.sent();
        let mut rounds = 0;
        while acts == ["send"] {
            rounds += 1;
            acts = bench.sent();
        }
        assert_eq!(acts, ["send", "recv"], "after {rounds} answers");
    }

    #[test]
    fn a_parked_receive_asks_again_only_when_unparked() {
        let mut bench = Bench::new("");
        bench.received(b"");
        assert!(bench.report(|conn, _| conn.park()).is_empty());
        assert_eq!(bench.received(GET), ["send"]);
        assert_eq!(bench.report(|conn, _| conn.unpark()), ["recv"]);
        bench.report(|conn, _| conn.park());
        bench.sent();
        assert_eq!(bench.report(|conn, moment| conn.failed(moment, false)), ["close"], "parked is not in flight");
    }

    #[test]
    fn deadlines_follow_the_phase() {
        let mut bench = Bench::new("");
        assert_eq!(bench.deadline_s(), Some(10), "first byte");
        bench.now_ns = 5 * SECOND;
        bench.received(b"GET / ");
        assert_eq!(bench.deadline_s(), Some(15), "head");
        bench.now_ns = 14 * SECOND;
        bench.received(b"HTTP/1.1\r\n");
        assert_eq!(bench.deadline_s(), Some(15), "the whole head, not the next byte");
        bench.received(b"Host: h\r\n\r\n");
        assert_eq!(bench.deadline_s(), Some(14 + 30), "write");
        bench.sent();
        assert_eq!(bench.deadline_s(), Some(14 + 60), "idle");
        bench.now_ns = 20 * SECOND;
        bench.received(b"GET / ");
        assert_eq!(bench.deadline_s(), Some(30), "the next head has a time of its own");
        bench.received(b"HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
        assert_eq!(bench.deadline_s(), Some(80), "body");
        assert_eq!(bench.expired(), ["send"]);
        assert_eq!(bench.tally.errors.body_timeout, 1);
        assert_eq!(bench.sent(), ["shut down"]);
    }

    #[test]
    fn a_peer_that_takes_nothing_is_reset() {
        let mut bench = Bench::new("");
        bench.received(GET);
        bench.now_ns = 20 * SECOND;
        bench.report(|conn, moment| conn.sent_some(moment, 1));
        assert_eq!(bench.deadline_s(), Some(50));
        assert_eq!(bench.expired(), ["stop recv", "stop send"]);
        bench.report(|conn, _| conn.recv_off());
        assert_eq!(bench.sent(), ["abort"]);
        assert_eq!(bench.tally.errors.write_timeout, 1);
    }

    #[test]
    fn draining_closes_the_idle_and_lets_the_others_finish() {
        let mut idle = Bench::new("");
        idle.received(GET);
        idle.sent();
        idle.draining = true;
        assert_eq!(idle.report(|conn, _| conn.drain()), ["shut down"]);

        let mut busy = Bench::new("");
        busy.received(b"GET / HTTP/1.1\r\n");
        busy.draining = true;
        assert!(busy.report(|conn, _| conn.drain()).is_empty());
        assert_eq!(busy.received(b"Host: h\r\n\r\n"), ["send"]);
        assert_eq!(busy.sent(), ["shut down"]);

        let mut fresh = Bench::new("");
        fresh.draining = true;
        assert_eq!(fresh.report(|conn, _| conn.drain()), ["recv"]);
        assert_eq!(fresh.deadline_s(), Some(1));
    }

    #[test]
    fn a_cut_connection_is_aborted_and_counted_once() {
        let mut bench = Bench::new("");
        bench.received(b"GET /");
        assert_eq!(bench.report(|conn, moment| conn.cut(moment)), ["stop recv"]);
        assert!(bench.report(|conn, moment| conn.cut(moment)).is_empty());
        assert_eq!(bench.report(|conn, _| conn.recv_off()), ["abort"]);
        assert_eq!(bench.tally.connections.cut, 1);
    }

    #[test]
    fn a_reused_connection_is_a_new_one() {
        let mut bench = Bench::new("");
        bench.received(LAST);
        let Bench { conn, .. } = bench;
        let fd = std::fs::File::open("/dev/null").expect("always there").into();
        let conn = conn.reuse(fd, 7 * SECOND);
        assert_eq!(conn.state(), State::Open);
        assert_eq!(conn.deadline_ns(&Limits::default(), false), Some(17 * SECOND));
    }
}
