//! The engine on io_uring: multishot accept and receive, a buffer ring, one send at a time for each connection.
//!
//! The loop is `Engine::turn`; its arms are calls, and the handlers stand below it in the order of a connection's life.
//! It is generic over the ring so that the scripted one of `ringshot_uring::sim` can stand in for the kernel.

mod accept;

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_uring::{Completion, Errno, Key, Op, Out, Parked, Ring, RingConfig, RingError, Slots, Uring, Wait};

use accept::Listening;

use crate::config::Config;
use crate::conn::{Act, Conn, State};
use crate::engine::EngineError;
use crate::gate::Gate;
use crate::notice::Notice;
use crate::tally::Tally;
use crate::timers::Timers;
use crate::wait::Waiter;
use crate::worker::{Local, Worker};

/// Keys that are no connection's, as those of `accept`. Connections count from 0 and are bounded far below.
const WAKE: Key = Key::new(0xfffe_0000, 0);
const TICK: Key = Key::new(0xfffe_0001, 0);

/// Closed connections whose memory is kept for new ones.
const SPARE_CONNS: usize = 256;

struct Engine<R: Uring> {
    ring: R,
    listeners: Vec<Option<Listening>>,
    stop: Stop,
    waker: Waker,
    gate: Gate,
    waiter: Waiter,
    conns: Slots<Conn>,
    spare: Vec<Conn>,
    /// Accepted between the full mark and the end of the accept: they wait for a slot, as others do in the listen queue.
    surplus: VecDeque<OwnedFd>,
    parked: Parked,
    timers: Timers<Key>,
    /// The earliest time that a tick is armed for. A later one may be under way as well: it wakes us for nothing.
    tick_ns: Option<u64>,
    grace_until_ns: Option<u64>,
    refused: Notice,
    local: Local,
}

/// Whether this machine has the ring that `config` asks for.
///
/// # Errors
/// Why not.
pub fn probe(config: &Config) -> Result<(), RingError> {
    Ring::new(&config.ring.ring()).map(drop)
}

/// Serves until the worker is told to stop.
///
/// # Errors
/// When there is no ring, or it can't go on.
pub fn run(worker: Worker) -> Result<Tally, EngineError> {
    let config: RingConfig = worker.config.ring.ring();
    let mut engine = Engine::new(Ring::new(&config)?, worker)?;
    while !engine.is_finished() {
        engine.turn()?;
    }
    Ok(engine.into_tally())
}

impl<R: Uring> Engine<R> {
    fn new(ring: R, mut worker: Worker) -> Result<Self, EngineError> {
        let local = Local::new(&worker);
        let capacity = worker.config.connections_per_worker();
        let listeners = std::mem::take(&mut worker.listeners).into_iter().map(Listening::new);
        let mut engine = Self {
            ring,
            listeners: listeners.collect::<Result<_, _>>()?,
            gate: Gate::new(capacity),
            waiter: Waiter::new(worker.config.wait, local.now_ns),
            conns: Slots::with_capacity(capacity),
            spare: Vec::new(),
            surplus: VecDeque::new(),
            parked: Parked::default(),
            timers: Timers::new(local.now_ns, worker.config.limits.shortest_timeout_ns()),
            tick_ns: None,
            grace_until_ns: None,
            refused: Notice::default(),
            stop: worker.stop,
            waker: worker.waker,
            local,
        };
        engine.ring.wake_on(WAKE, engine.waker.fd().as_raw_fd());
        engine.on_gate();
        Ok(engine)
    }

    /// One batch: wait, then handle all that has come.
    fn turn(&mut self) -> Result<(), EngineError> {
        let wait = if self.waiter.may_sleep() { Wait::BLOCK } else { Wait::POLL };
        self.ring.enter(wait)?;
        self.local.look_at_clocks();
        let mut events = 0;
        while let Some(done) = self.ring.next() {
            events += 1;
            match done.op() {
                Op::Accept => self.on_accept(done),
                Op::Recv => self.on_recv(done),
                Op::Send => self.on_send(&done),
                Op::Close => self.on_close(done.key()),
                Op::Wake => self.on_wake(),
                Op::Tick => self.tick_ns = None,
                Op::Cancel | Op::Connect => {}
            }
        }
        self.after_batch(events);
        Ok(())
    }

    fn after_batch(&mut self, events: usize) {
        self.waiter.looked(events, self.local.now_ns);
        self.local.tally.engine.events += events as u64;
        self.unpark();
        self.on_timers();
        self.on_grace();
        self.take_surplus();
        self.on_gate();
        self.arm_tick();
    }

    fn is_finished(&self) -> bool {
        let served = self.conns.is_empty() && self.surplus.is_empty();
        self.local.draining && served && self.listeners.iter().all(Option::is_none)
    }

    fn into_tally(mut self) -> Tally {
        let counters = self.ring.counters();
        let counts = &mut self.local.tally.engine;
        counts.waits = counters.enters;
        counts.cq_overflows = counters.cq_overflows;
        counts.sq_full = counters.sq_full;
        self.local.tally
    }

    fn on_recv(&mut self, mut done: Completion) {
        let key = done.key();
        let buffer = done.buffer.take();
        let Some(conn) = self.conns.get_mut(key) else {
            self.local.tally.engine.stale += 1;
            return buffer.into_iter().for_each(|id| self.ring.release(id));
        };
        let moment = &mut self.local.moment();
        if !done.more {
            conn.recv_off();
        }
        match (done.result, &buffer) {
            (Ok(_), Some(id)) => conn.received(moment, self.ring.bytes(id)),
            (Ok(_), None) => conn.ended(moment),
            (Err(Errno::NO_BUFFERS), _) => {
                conn.park();
                self.parked.park(key);
                moment.ctx.tally.engine.parked += 1;
            }
            (Err(errno), _) if errno.is_canceled() => {}
            (Err(errno), _) => conn.failed(moment, errno.is_reset()),
        }
        if let Some(id) = buffer {
            self.ring.release(id);
        }
        self.settle(key);
    }

    fn on_send(&mut self, done: &Completion) {
        let key = done.key();
        let out = self.ring.take_out(key);
        let Some((conn, mut out)) = self.conns.get_mut(key).zip(out) else {
            self.local.tally.engine.stale += 1;
            return;
        };
        let moment = &mut self.local.moment();
        match done.result {
            Ok(len_bytes) => {
                conn.sent_some(moment, len_bytes as usize);
                let all_sent = out.advance(len_bytes as usize);
                if !all_sent && conn.state() != State::Closing {
                    moment.ctx.tally.engine.short_sends += 1;
                    return self.send_rest(key, out);
                }
            }
            Err(errno) if errno.is_canceled() => {}
            Err(errno) => conn.failed(moment, errno.is_reset()),
        }
        conn.sent(moment, out);
        self.settle(key);
    }

    fn send_rest(&mut self, key: Key, out: Out) {
        if let Some(fd) = self.raw_fd(key) {
            self.ring.send(key, fd, out);
        }
    }

    fn on_close(&mut self, key: Key) {
        let Some(conn) = self.conns.remove(key) else {
            self.local.tally.engine.stale += 1;
            return;
        };
        self.local.tally.connections.closed += 1;
        if self.spare.len() < SPARE_CONNS {
            self.spare.push(conn);
        }
    }

    /// Does what the connection asks for until it asks for nothing.
    #[inline]
    fn settle(&mut self, key: Key) {
        while let Some(conn) = self.conns.get_mut(key) {
            let Some(act) = conn.next(&mut self.local.moment()) else { return };
            let fd = conn.fd().map_or(-1, |fd| fd.as_raw_fd());
            match act {
                Act::Recv => self.ring.recv(key, fd),
                Act::StopRecv => self.ring.cancel(key, Op::Recv),
                Act::Send(out) => self.ring.send(key, fd, out),
                Act::StopSend => self.ring.cancel(key, Op::Send),
                Act::ShutdownWrite => shut_down(conn),
                Act::Close { fd, abort } => self.close(key, fd, abort),
            }
        }
    }

    fn close(&mut self, key: Key, fd: OwnedFd, abort: bool) {
        if abort {
            // Should it fail, the kernel sends what is left and a FIN instead of a reset.
            let _ = ringshot_host::sockopt::linger0(&fd);
        }
        self.ring.close(key, fd);
    }

    fn raw_fd(&self, key: Key) -> Option<RawFd> {
        self.conns.get(key)?.fd().map(|fd| fd.as_raw_fd())
    }

    /// Lets those receive again that found no buffer, oldest first, as far as buffers have come back.
    fn unpark(&mut self) {
        for _ in 0..self.parked.ready(self.ring.free_buffers()) {
            let Some(key) = self.parked.pop() else { return };
            if let Some(conn) = self.conns.get_mut(key) {
                conn.unpark();
                self.settle(key);
            }
        }
    }

    fn on_timers(&mut self) {
        let now_ns = self.local.now_ns;
        while let Some(key) = self.timers.pop(now_ns) {
            self.on_deadline(key);
            if let Some(conn) = self.conns.get(key) {
                let deadline_ns = conn.deadline_ns(&self.local.config.limits, self.local.draining);
                self.timers.again(key.slot(), deadline_ns, now_ns);
            }
        }
    }

    fn on_deadline(&mut self, key: Key) {
        let Some(conn) = self.conns.get_mut(key) else { return };
        let moment = &mut self.local.moment();
        let deadline_ns = conn.deadline_ns(moment.limits, moment.ctx.draining);
        if deadline_ns.is_some_and(|deadline_ns| deadline_ns <= moment.now_ns) {
            conn.expired(moment);
            self.settle(key);
        }
    }

    fn on_wake(&mut self) {
        self.waker.drain();
        self.ring.wake_on(WAKE, self.waker.fd().as_raw_fd());
        if self.stop.is_requested() && !self.local.draining {
            self.drain();
        }
    }

    fn on_grace(&mut self) {
        if self.grace_until_ns.is_some_and(|until_ns| until_ns <= self.local.now_ns) {
            self.grace_until_ns = None;
            self.surplus.clear();
            self.for_all(|conn, local| conn.cut(&mut local.moment()));
        }
    }

    fn for_all(&mut self, mut report: impl FnMut(&mut Conn, &mut Local)) {
        for slot in 0..self.conns.high_water() {
            let Some(key) = self.conns.key_at(slot) else { continue };
            if let Some(conn) = self.conns.get_mut(key) {
                report(conn, &mut self.local);
                self.settle(key);
            }
        }
    }

    /// Sees to it that the worker wakes up when something is due.
    fn arm_tick(&mut self) {
        let urgent = [self.gate.wake_ns(), self.grace_until_ns].into_iter().flatten().min();
        let due_ns = match self.tick_ns {
            // Entries of the wheel lie no further ahead than its longest look, so the armed tick comes before new ones.
            Some(armed_ns) => urgent.filter(|due_ns| *due_ns < armed_ns),
            None => [urgent, self.timers.next_ns()].into_iter().flatten().min(),
        };
        if let Some(due_ns) = due_ns {
            self.ring.tick(TICK, due_ns);
            self.tick_ns = Some(due_ns);
        }
    }
}

/// On the spot and not on the ring: there it would be handed to a thread of the kernel (axboe/liburing#1569). It fails only
/// when the peer is gone already (ENOTCONN), which the receive reports.
fn shut_down(conn: &Conn) {
    if let Some(fd) = conn.fd() {
        let _ = rustix::net::shutdown(fd, rustix::net::Shutdown::Write);
    }
}

#[cfg(test)]
mod tests;
