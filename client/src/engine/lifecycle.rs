//! How connections begin and end, and what happens without any completion: timeouts, pauses, the end of the run.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use ringshot_uring::{Key, Op, Out, Uring};
use socket2::{Protocol, Socket, Type};

use super::uring::Engine;
use crate::conn::{Conn, PARTING, State};
use crate::plan::Plan;
use crate::record::{Class, Reason};
use crate::session::{Phase, Session};
use crate::worker::Worker;

/// Owner of the operations that belong to no connection. No slot has this number: tables are smaller.
const NOBODY: Key = Key::new(u32::MAX, 0);
/// How long requests in flight may take once the run's time is over, unless their timeout is shorter.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// Timeouts are checked at this part of their length, within these bounds.
const CHECKS_PER_TIMEOUT: u32 = 8;
const CHECK_MIN: Duration = Duration::from_millis(10);
const CHECK_MAX: Duration = Duration::from_millis(250);
/// A place of a run that is limited by requests is given up after so many failures in a row: with the pauses between
/// them that is 1.3 s of refusals. Without this bound a run against a server that is gone would never end.
const FAILURES_MAX: u32 = 8;

fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

impl<R: Uring> Engine<R> {
    /// Arms what belongs to no connection, and begins every connection.
    pub(super) fn begin(&mut self) {
        self.now_ns = (self.clock)();
        let end_ns = self.worker.job.length.map(|length| self.now_ns + ns(length));
        self.plan = Plan::closed(self.worker.requests, end_ns);
        self.await_wake();
        for _ in 0..self.worker.connections {
            if let Ok(key) = self.conns.insert(place(&self.worker)) {
                self.connect(key);
            }
        }
        self.look_after();
    }

    /// Arms the poll through which another thread can end the run.
    pub(super) fn await_wake(&mut self) {
        self.ring.wake_on(NOBODY, self.worker.waker.fd().as_raw_fd());
    }

    /// Begins a connection for the plan's next request, which counts as started from here on.
    pub(super) fn connect(&mut self, key: Key) {
        let taken = if self.drain_end_ns.is_some() { 0 } else { self.plan.take(self.now_ns, 1) };
        if taken == 0 {
            return self.retire(key);
        }
        let Some(conn) = self.conns.get_mut(key) else { return };
        self.record.started += 1;
        self.record.connections.attempts += 1;
        self.record.connections.reconnects += u64::from(conn.connections > 0);
        conn.connections += 1;
        conn.owed = 1;
        conn.enter(State::Connecting, self.now_ns);
        match socket(self.worker.job.addr.is_ipv6()) {
            Err(error) => {
                let reason = error.raw_os_error().map_or(Reason::Text("no socket"), Reason::Errno);
                self.fail(key, Class::Connect, reason);
            }
            Ok(fd) => {
                conn.armed.connect = true;
                self.ring.connect(key, fd.as_raw_fd(), self.worker.job.addr.into());
                conn.fd = Some(fd);
            }
        }
    }

    /// Ends a connection in disorder: whatever it carried ends in `class`.
    pub(super) fn fail(&mut self, key: Key, class: Class, reason: Reason) {
        if let Some(conn) = self.conns.get_mut(key) {
            conn.note_failure();
        }
        self.cut_off(key, class, reason);
    }

    /// Ends whatever a connection carries in `class`, and the connection.
    pub(super) fn cut_off(&mut self, key: Key, class: Class, reason: Reason) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        while let Some(at_ns) = conn.settle() {
            let age_ns = at_ns.map(|at_ns| self.now_ns.saturating_sub(at_ns));
            self.record.failed(class, reason, age_ns);
        }
        for _ in 0..std::mem::take(&mut conn.owed) {
            self.record.failed(class, reason, None);
        }
        self.begin_close(key);
    }

    /// The last response has come: lets the server close first.
    pub(super) fn part(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        self.record.connections.close_announced += 1;
        if conn.outstanding() > 0 {
            let reason = Reason::Text("pipelined behind a response with Connection: close");
            return self.cut_off(key, Class::ClosedEarly, reason);
        }
        if !conn.armed.recv {
            return self.begin_close(key);
        }
        conn.enter(State::Parting, self.now_ns);
        self.check_at(self.now_ns + ns(PARTING));
    }

    /// The peer closed its side: between two requests that is its right, else what it owed is lost.
    pub(super) fn closed_by_peer(&mut self, key: Key, phase: Phase) {
        let words = match phase {
            Phase::Idle => {
                self.record.connections.idle_closed += 1;
                return self.begin_close(key);
            }
            Phase::Before => "no byte of the response had come",
            Phase::Head => "in the head of the response",
            Phase::Body => "in the body of the response",
        };
        self.fail(key, Class::ClosedEarly, Reason::Text(words));
    }

    /// Asks the kernel to end what is in flight. The close comes when it has.
    pub(super) fn begin_close(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if conn.state() == State::Closing {
            return;
        }
        conn.enter(State::Closing, self.now_ns);
        let armed = conn.armed;
        for (op, is_armed) in [(Op::Connect, armed.connect), (Op::Recv, armed.recv), (Op::Send, armed.send)] {
            if is_armed {
                self.ring.cancel(key, op);
            }
        }
        self.close_if_idle(key);
    }

    /// Closes on the ring once nothing is in flight: before that, the descriptor's number must not be free.
    pub(super) fn close_if_idle(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        if conn.state() != State::Closing || conn.in_flight() || conn.armed.close {
            return;
        }
        match conn.fd.take() {
            Some(fd) => {
                conn.armed.close = true;
                self.ring.close(key, fd);
            }
            None => self.reopen(key),
        }
    }

    /// Gives the place a new key, so that late completions of the old connection find nothing, and its next connection.
    pub(super) fn reopen(&mut self, key: Key) {
        let Some(mut conn) = self.conns.remove(key) else { return };
        let over = self.drain_end_ns.is_some() || self.plan.is_over(self.now_ns);
        let given_up = self.plan.is_counted() && conn.failures() >= FAILURES_MAX;
        if over || given_up {
            self.record.connections.given_up += u64::from(given_up && !over);
            return self.answered.push(conn.answered);
        }
        let pause = conn.backoff();
        let due_ns = self.now_ns + ns(pause);
        conn.renew(due_ns);
        // The slot that was freed just now takes it.
        let Ok(key) = self.conns.insert(conn) else { return };
        if pause.is_zero() { self.connect(key) } else { self.check_at(due_ns) }
    }

    /// Ends a place that has nothing open.
    fn retire(&mut self, key: Key) {
        if let Some(conn) = self.conns.remove(key) {
            self.answered.push(conn.answered);
        }
    }

    /// Sees to it that connections are looked at, at `at_ns` or before.
    fn check_at(&mut self, at_ns: u64) {
        self.check_ns = self.check_ns.min(at_ns);
        if self.ticks.ask(self.check_ns) {
            self.ring.tick(NOBODY, self.check_ns);
        }
    }

    /// A tick that came too early for the next look makes room for the one that is in time.
    pub(super) fn on_tick(&mut self) {
        self.ticks.ticked();
        if self.now_ns < self.check_ns {
            self.check_at(self.check_ns);
        }
    }

    /// Looks at every connection for what has not happened to it in time.
    pub(super) fn look_after(&mut self) {
        if self.drain_end_ns.is_none() && self.plan.next_ns().is_some_and(|end_ns| self.now_ns >= end_ns) {
            self.drain_end_ns = Some(self.now_ns + ns(DRAIN_MAX.min(self.worker.job.timeout)));
        }
        self.check_ns = u64::MAX;
        for slot in 0..self.conns.high_water() {
            if let Some(key) = self.conns.key_at(slot) {
                self.look_at(key);
            }
        }
        let interval = (self.worker.job.timeout / CHECKS_PER_TIMEOUT).clamp(CHECK_MIN, CHECK_MAX);
        let end_ns = self.drain_end_ns.or(self.plan.next_ns()).unwrap_or(u64::MAX);
        let next_ns = self.now_ns + ns(interval);
        self.check_at(if end_ns > self.now_ns { next_ns.min(end_ns) } else { next_ns });
    }

    fn look_at(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        let (state, since_ns, words) = (conn.state(), conn.since_ns(), timeout_words(conn));
        let (now_ns, timeout_ns) = (self.now_ns, ns(self.worker.job.timeout));
        let is_old = |at_ns: u64| now_ns.saturating_sub(at_ns) >= timeout_ns;
        let is_late = conn.oldest_ns().is_some_and(is_old);
        let drained = self.drain_end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        match state {
            State::Resting if self.plan.is_over(now_ns) || now_ns >= since_ns => self.connect(key),
            State::Resting => self.check_at(since_ns),
            State::Connecting if is_old(since_ns) => {
                self.fail(key, Class::Connect, Reason::Text("not established within the timeout"));
            }
            State::Open if is_late => self.fail(key, Class::Timeout, Reason::Text(words)),
            State::Connecting | State::Open if drained => {
                self.cut_off(key, Class::Cancelled, Reason::Text("in flight when the run ended"));
            }
            State::Parting if now_ns >= since_ns + ns(PARTING) => self.begin_close(key),
            State::Parting => self.check_at(since_ns + ns(PARTING)),
            State::Connecting | State::Open | State::Closing => {}
        }
    }

    /// Ends the run at once: what is in flight is cancelled.
    pub(super) fn stop(&mut self) {
        self.plan.stop();
        self.drain_end_ns = Some(self.now_ns);
        self.look_after();
    }
}

/// Where the answer stands that did not come in time.
fn timeout_words(conn: &Conn) -> &'static str {
    if conn.session.is_mid_response() { "the response had begun" } else { "no byte of the response had come" }
}

/// A socket as every connection has it: no Nagle delay, since a request is one write.
fn socket(is_ipv6: bool) -> std::io::Result<OwnedFd> {
    let domain = if is_ipv6 { socket2::Domain::IPV6 } else { socket2::Domain::IPV4 };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

/// A place for a connection, ready to be opened.
fn place(worker: &Worker) -> Conn {
    let job = &worker.job;
    let session = Session::new(job.method, job.limits, !job.keep_alive);
    let out = Out::with_capacity(job.request.len() * job.pipeline as usize);
    Conn::new(session, out, job.pipeline)
}
