//! The io_uring engine: the whole loop, then one handler per kind of completion in the order of a connection's life.
//! What begins and ends connections is in `lifecycle.rs` beside this file.

use ringshot_host::clock;
use ringshot_uring::{Completion, Errno, Key, Op, Parked, RingError, Slots, Uring};

use super::Outcome;
use super::idle::Idle;
use crate::conn::{Conn, State};
use crate::plan::Plan;
use crate::record::{Class, Reason, Record};
use crate::session::{Answer, Next, Why};
use crate::ticks::Ticks;
use crate::worker::Worker;

/// A thread's event loop and all that it works on.
pub struct Engine<R: Uring> {
    pub(super) ring: R,
    pub(super) worker: Worker,
    pub(super) conns: Slots<Conn>,
    pub(super) plan: Plan,
    pub(super) record: Record,
    pub(super) answered: Vec<u64>,
    /// Connections whose send goes to the kernel with the next enter.
    departing: Vec<Key>,
    /// Connections that may have room for requests, to be seen to at the end of the turn.
    fill_due: Vec<Key>,
    parked: Parked,
    /// Complete responses of one receive; its memory is used again.
    answers: Vec<Answer>,
    pub(super) ticks: Ticks,
    /// Reads CLOCK_MONOTONIC; a test can put another in its place.
    pub(super) clock: fn() -> u64,
    /// The reading of this batch.
    pub(super) now_ns: u64,
    /// When connections must be looked at even though nothing came from them.
    pub(super) check_ns: u64,
    /// From when on what is in flight is cancelled. Set when the run ends by time or is stopped.
    pub(super) drain_end_ns: Option<u64>,
    idle: Idle,
    completed_live: u64,
}

impl<R: Uring> Engine<R> {
    /// An engine that has not begun.
    #[must_use]
    pub fn new(ring: R, worker: Worker) -> Self {
        let connections = worker.connections as usize;
        Self {
            ring,
            conns: Slots::with_capacity(connections),
            plan: Plan::closed(worker.requests, None),
            record: Record::default(),
            answered: Vec::with_capacity(connections),
            departing: Vec::with_capacity(connections),
            fill_due: Vec::with_capacity(connections),
            parked: Parked::default(),
            answers: Vec::with_capacity(worker.job.pipeline as usize),
            ticks: Ticks::default(),
            clock: clock::monotonic_ns,
            now_ns: 0,
            check_ns: 0,
            drain_end_ns: None,
            idle: Idle::new(worker.job.wait),
            completed_live: 0,
            worker,
        }
    }

    /// The ring.
    pub fn ring(&self) -> &R {
        &self.ring
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When the ring can't go on.
    pub fn run(mut self) -> Result<Outcome, RingError> {
        self.begin();
        while !self.finished() {
            self.turn()?;
        }
        Ok(self.end())
    }

    /// One turn of the loop: submit and wait, work off what came, look after what didn't.
    pub(super) fn turn(&mut self) -> Result<(), RingError> {
        self.depart();
        let wait = self.idle.wait(self.now_ns);
        self.ring.enter(wait)?;
        let before_ns = std::mem::replace(&mut self.now_ns, (self.clock)());
        let mut found = false;
        while let Some(done) = self.ring.next() {
            found = true;
            match done.op() {
                Op::Connect => self.on_connect(&done),
                Op::Recv => self.on_recv(done),
                Op::Send => self.on_send(&done),
                Op::Close => self.on_close(&done),
                Op::Wake => self.on_wake(),
                Op::Tick => self.on_tick(),
                Op::Cancel => {}
                Op::Accept => unreachable!("a client never accepts"),
            }
        }
        self.idle.note(wait, found, before_ns, self.now_ns);
        self.tell();
        self.unpark();
        self.fill_all();
        if self.now_ns >= self.check_ns {
            self.look_after();
        }
        Ok(())
    }

    fn finished(&self) -> bool {
        self.conns.is_empty()
    }

    /// Stamps the requests that the next enter hands to the kernel.
    fn depart(&mut self) {
        if self.departing.is_empty() {
            return;
        }
        self.now_ns = (self.clock)();
        self.record.first_ns.get_or_insert(self.now_ns);
        for key in self.departing.drain(..) {
            if let Some(conn) = self.conns.get_mut(key) {
                conn.departed(self.now_ns);
            }
        }
    }

    /// Tells whoever watches how far we are: once per batch, because each telling may cost a cache miss.
    fn tell(&mut self) {
        if self.completed_live > 0 {
            self.worker.live.add(std::mem::take(&mut self.completed_live));
        }
    }

    /// Has the connection filled up at the end of the turn: what several completions of one batch make room for leaves in
    /// one send.
    fn fill_later(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if !std::mem::replace(&mut conn.fill_is_due, true) {
            self.fill_due.push(key);
        }
    }

    fn fill_all(&mut self) {
        let mut due = std::mem::take(&mut self.fill_due);
        for key in due.drain(..) {
            if let Some(conn) = self.conns.get_mut(key) {
                conn.fill_is_due = false;
                self.fill(key);
            }
        }
        self.fill_due = due;
    }

    fn on_connect(&mut self, done: &Completion) {
        let key = done.key();
        let Some(conn) = self.conns.get_mut(key) else { return self.stale() };
        conn.armed.connect = false;
        match (conn.state(), done.result) {
            (State::Connecting, Ok(_)) => self.established(key),
            (State::Connecting, Err(errno)) => self.fail(key, Class::Connect, errno.into()),
            _ => self.close_if_idle(key),
        }
    }

    fn established(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        self.record.connect.record(self.now_ns.saturating_sub(conn.since_ns()));
        self.record.connections.established += 1;
        conn.enter(State::Open, self.now_ns);
        conn.armed.recv = true;
        self.ring.recv(key, conn.raw_fd());
        if self.drain_end_ns.is_some() {
            return self.cut_off(key, Class::Cancelled, Reason::Text("the run ended before it was sent"));
        }
        self.fill_later(key);
    }

    /// Sends as many requests as the plan and the pipeline allow, once half of the pipeline is free: a server that answers
    /// one by one would else be asked one by one. One send is in flight at a time: while there is one, the next is made up
    /// when it completes.
    fn fill(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if conn.state() != State::Open || conn.out.is_none() {
            return;
        }
        let room = self.worker.job.pipeline.saturating_sub(conn.outstanding() + conn.owed);
        if conn.outstanding() > 0 && room < self.worker.job.pipeline.div_ceil(2) {
            return;
        }
        let may_take = self.worker.job.keep_alive && !conn.sealed;
        let more = if may_take { self.plan.take(self.now_ns, room) } else { 0 };
        self.record.started += u64::from(more);
        let n = more + std::mem::take(&mut conn.owed);
        if n == 0 {
            if conn.outstanding() == 0 {
                self.begin_close(key);
            }
            return;
        }
        if let Some(out) = &mut conn.out {
            out.clear(usize::MAX);
            (0..n).for_each(|_| out.buf().extend_from_slice(&self.worker.job.request));
        }
        conn.depart(n);
        self.departing.push(key);
        self.send(key);
    }

    /// Hands the send buffer to the ring.
    fn send(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        let Some(out) = conn.out.take() else { return };
        conn.armed.send = true;
        self.ring.send(key, conn.raw_fd(), out);
    }

    fn on_send(&mut self, done: &Completion) {
        let key = done.key();
        let out = self.ring.take_out(key);
        let Some(conn) = self.conns.get_mut(key) else { return self.stale() };
        conn.armed.send = false;
        let mut out = out.unwrap_or_default();
        let sent_bytes = done.result.unwrap_or(0);
        self.record.sent_bytes += u64::from(sent_bytes);
        let all = out.advance(sent_bytes as usize);
        conn.out = Some(out);
        match (conn.state(), done.result) {
            (State::Open, Ok(1..)) if all => self.fill_later(key),
            (State::Open, Ok(1..)) => self.send(key),
            (State::Open, result) => self.send_failed(key, result.err()),
            _ => self.close_if_idle(key),
        }
    }

    /// The peer takes nothing more. What it said before, perhaps an answer, may still be there to be read, so the receive
    /// has the last word while there is one; a timeout bounds it.
    fn send_failed(&mut self, key: Key, errno: Option<Errno>) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if !conn.armed.recv && !conn.parked {
            return self.fail(key, Class::Reset, errno.map_or(Reason::Text("nothing could be sent"), Reason::from));
        }
        conn.sealed = true;
    }

    fn on_recv(&mut self, mut done: Completion) {
        let (key, buffer) = (done.key(), done.buffer.take());
        let next = match self.conns.get_mut(key) {
            None => {
                self.record.stale_completions += 1;
                None
            }
            Some(conn) => {
                conn.armed.recv = done.more;
                match (conn.state(), done.result, &buffer) {
                    (State::Open, Ok(1..), Some(id)) => {
                        let input = self.ring.bytes(id);
                        self.record.received_bytes += input.len() as u64;
                        Some(conn.session.advance(input, &mut self.answers))
                    }
                    (State::Open, Ok(_), _) => Some(conn.session.end_of_input(&mut self.answers)),
                    _ => None,
                }
            }
        };
        if let Some(id) = buffer {
            self.ring.release(id);
        }
        match (next, done.result) {
            (Some(next), _) => self.received(key, next),
            (None, Err(errno)) => self.recv_error(key, errno),
            (None, Ok(_)) => self.recv_ignored(key, done.more),
        }
    }

    /// Books the answers and goes where the session says.
    fn received(&mut self, key: Key, next: Next) {
        self.book(key);
        match next {
            Next::Read => self.fill_later(key),
            Next::Close(Why::Announced) => self.part(key),
            Next::Close(Why::Unsolicited) => {
                self.record.connections.unsolicited += 1;
                self.begin_close(key);
            }
            Next::Close(Why::Protocol(name)) => self.fail(key, Class::Protocol, Reason::Text(name)),
            Next::Close(Why::Eof(phase)) => self.closed_by_peer(key, phase),
        }
        self.rearm(key);
    }

    /// One sample per answer, all of a batch at the batch's clock reading.
    fn book(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return self.answers.clear() };
        self.completed_live += self.answers.len() as u64;
        for answer in self.answers.drain(..) {
            conn.note_answer();
            // `None`: an answer before its request was handed over; it is older than the request, so it took no time.
            let at_ns = conn.settle().flatten().unwrap_or(self.now_ns);
            self.record.completed(answer.status, self.now_ns.saturating_sub(at_ns));
            self.record.body_bytes += answer.body_bytes;
            self.record.interim += u64::from(answer.interim);
            self.record.last_ns = Some(self.now_ns);
        }
    }

    fn recv_error(&mut self, key: Key, errno: Errno) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        match conn.state() {
            State::Open if errno.is_no_buffers() => {
                conn.parked = true;
                self.parked.park(key);
            }
            State::Open if conn.outstanding() == 0 => {
                self.record.connections.idle_closed += 1;
                self.begin_close(key);
            }
            State::Open => self.fail(key, Class::Reset, errno.into()),
            State::Parting => self.begin_close(key),
            _ => self.close_if_idle(key),
        }
    }

    /// A receive on a connection that carries nothing more: its end is what is waited for.
    fn recv_ignored(&mut self, key: Key, more: bool) {
        match self.conns.get(key).map(Conn::state) {
            Some(State::Parting) if !more => self.begin_close(key),
            Some(State::Closing) => self.close_if_idle(key),
            _ => {}
        }
    }

    /// A multishot receive may end at any completion, for reasons of the kernel's own.
    fn rearm(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if matches!(conn.state(), State::Open) && !conn.armed.recv && !conn.parked {
            conn.armed.recv = true;
            self.ring.recv(key, conn.raw_fd());
        }
    }

    /// Lets as many waiting receives go as there are free buffers.
    fn unpark(&mut self) {
        for _ in 0..self.parked.ready(self.ring.free_buffers()) {
            let Some(key) = self.parked.pop() else { return };
            let Some(conn) = self.conns.get_mut(key) else { continue };
            conn.parked = false;
            self.rearm(key);
        }
    }

    fn on_close(&mut self, done: &Completion) {
        let key = done.key();
        match self.conns.get_mut(key) {
            Some(conn) => conn.armed.close = false,
            None => return self.stale(),
        }
        self.reopen(key);
    }

    fn on_wake(&mut self) {
        self.worker.waker.drain();
        if self.worker.stop.is_requested() {
            self.stop();
        } else {
            self.await_wake();
        }
    }

    fn stale(&mut self) {
        self.record.stale_completions += 1;
    }

    fn end(self) -> Outcome {
        Outcome {
            counters: self.ring.counters(),
            record: self.record,
            idle_spin_ns: self.idle.spun_ns(),
            answered: self.answered,
        }
    }
}
