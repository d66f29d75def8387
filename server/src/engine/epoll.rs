//! The engine on epoll: as thin as it can be. It is the fallback where io_uring is refused, and the control that the ring
//! is compared with.
//!
//! Level-triggered: what one receive leaves behind wakes the worker again, after the others had their turn. One receive
//! buffer serves all connections, because the session takes all of it before the next one is looked at.

use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_uring::{Key, Op, Out, Slots, Token};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown, SocketFlags};

use crate::conn::{Act, Conn, Moment};
use crate::engine::EngineError;
use crate::gate::{Change, Gate, OUT_OF_DESCRIPTORS};
use crate::notice::Notice;
use crate::server::BACKLOG;
use crate::tally::Tally;
use crate::timers::Timers;
use crate::wait::Waiter;
use crate::worker::{Local, Worker};

/// The receive buffer.
const RECV_BYTES: usize = 64 * 1024;

/// Events taken in one wait.
const EVENTS: usize = 512;

/// Connections accepted from one listener before the others have their turn.
const ACCEPTS: usize = 64;

/// Closed connections whose memory is kept for new ones.
const SPARE_CONNS: usize = 256;

/// A connection and what epoll needs to know of it.
struct Peer {
    conn: Conn,
    /// What the socket did not take at once. `Some` while a send of the connection is in flight, and only then.
    unsent: Option<Out>,
    reading: bool,
    /// What epoll was last told; `None` before the socket was added.
    interest: Option<EventFlags>,
}

struct Engine {
    epoll: OwnedFd,
    listeners: Vec<TcpListener>,
    stop: Stop,
    waker: Waker,
    gate: Gate,
    waiter: Waiter,
    peers: Slots<Peer>,
    /// Memory of closed connections, for new ones.
    spare: Vec<Conn>,
    timers: Timers<Key>,
    buf: Box<[u8]>,
    grace_until_ns: Option<u64>,
    refused: Notice,
    local: Local,
}

/// Serves until the worker is told to stop.
///
/// # Errors
/// When epoll itself fails.
pub fn run(worker: Worker) -> Result<Tally, EngineError> {
    let mut engine = Engine::new(worker)?;
    let mut events = Vec::with_capacity(EVENTS);
    engine.on_gate()?;
    while !engine.is_finished() {
        engine.wait(&mut events)?;
        for event in events.drain(..) {
            engine.on_event(event)?;
        }
        engine.on_timers();
        engine.on_stop()?;
        engine.on_gate()?;
    }
    Ok(engine.local.tally)
}

impl Engine {
    fn new(mut worker: Worker) -> Result<Self, EngineError> {
        let local = Local::new(&worker);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(EngineError::call("epoll_create"))?;
        let wake = Token::new(Op::Wake, Key::new(0, 0));
        epoll::add(&epoll, worker.waker.fd(), EventData::new_u64(wake.bits()), EventFlags::IN)
            .map_err(EngineError::call("epoll_ctl"))?;
        Ok(Self {
            epoll,
            listeners: std::mem::take(&mut worker.listeners),
            gate: Gate::new(worker.config.connections_per_worker()),
            waiter: Waiter::new(worker.config.wait, local.now_ns),
            peers: Slots::with_capacity(worker.config.connections_per_worker()),
            spare: Vec::new(),
            timers: Timers::new(local.now_ns, worker.config.limits.shortest_timeout_ns()),
            buf: vec![0; RECV_BYTES].into_boxed_slice(),
            grace_until_ns: None,
            refused: Notice::default(),
            stop: worker.stop,
            waker: worker.waker,
            local,
        })
    }

    fn is_finished(&self) -> bool {
        self.local.draining && self.peers.is_empty()
    }

    /// Waits for events, or until something is due.
    fn wait(&mut self, events: &mut Vec<Event>) -> Result<(), EngineError> {
        let timeout = match self.waiter.may_sleep() {
            true => self.next_due_ns().map(|due_ns| timespec(due_ns.saturating_sub(self.local.now_ns))),
            false => Some(timespec(0)),
        };
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(EngineError::call("epoll_wait")(errno)),
        }
        self.local.look_at_clocks();
        self.waiter.looked(events.len(), self.local.now_ns);
        self.local.tally.engine.waits += 1;
        self.local.tally.engine.events += events.len() as u64;
        Ok(())
    }

    fn next_due_ns(&self) -> Option<u64> {
        [self.timers.next_ns(), self.gate.wake_ns(), self.grace_until_ns].into_iter().flatten().min()
    }

    fn on_event(&mut self, event: Event) -> Result<(), EngineError> {
        let data = event.data.u64();
        let Some(token) = Token::from_bits(data) else { return Ok(()) };
        match token.op() {
            Op::Accept => self.on_accept(token.key().slot(), ACCEPTS),
            Op::Wake => {
                self.waker.drain();
                Ok(())
            }
            _ => {
                self.on_ready(token.key(), event.flags);
                Ok(())
            }
        }
    }

    /// Accepts what is queued, `at_most` so many.
    fn on_accept(&mut self, listener: usize, at_most: usize) -> Result<(), EngineError> {
        for _ in 0..at_most {
            if !self.gate.is_open(self.peers.len()) {
                break;
            }
            match net::accept_with(&self.listeners[listener], SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(fd) => self.on_connection(fd),
                Err(Errno::AGAIN) => break,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.gate.refused(self.local.now_ns, self.peers.len());
                    break;
                }
                Err(errno @ (Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP)) => {
                    return Err(EngineError::call("accept")(errno));
                }
                // The others belong to the connection that was to be accepted (accept(2), "Error handling").
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn on_connection(&mut self, fd: OwnedFd) {
        let now_ns = self.local.now_ns;
        self.local.count_accepted(fd.as_fd(), self.peers.len() + 1);
        let conn = match self.spare.pop() {
            Some(conn) => conn.reuse(fd, now_ns),
            None => Conn::new(fd, now_ns),
        };
        let peer = Peer { conn, unsent: None, reading: false, interest: None };
        // The gate lets nobody in when all slots are taken; a connection that got in all the same is closed by the drop.
        if let Ok(key) = self.peers.insert(peer) {
            self.timers.watch(key.slot(), key, now_ns);
            self.settle(key);
        }
    }

    fn on_ready(&mut self, key: Key, flags: EventFlags) {
        let Some(peer) = self.peers.get_mut(key) else {
            self.local.tally.engine.stale += 1;
            return;
        };
        let moment = &mut self.local.moment();
        if flags.contains(EventFlags::OUT) {
            peer.send(moment);
        }
        if peer.reading && flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            peer.receive(moment, &mut self.buf);
        } else if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            peer.conn.failed(moment, true);
        }
        self.settle(key);
    }

    /// Does what the connection asks for until it asks for nothing.
    fn settle(&mut self, key: Key) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let moment = &mut self.local.moment();
        while let Some(act) = peer.conn.next(moment) {
            match act {
                Act::Recv => peer.reading = true,
                Act::StopRecv => peer.stop_reading(),
                Act::Send(out) => peer.start_send(moment, out),
                Act::StopSend => peer.stop_send(moment),
                Act::ShutdownWrite => peer.shut_down(),
                Act::Close { fd, abort } => return self.close(key, fd, abort),
            }
        }
        // Watches or memory have run out. What epoll does not watch is never heard of again, so it is closed.
        if peer.tell(&self.epoll, key).is_err() {
            peer.conn.failed(moment, false);
            self.settle(key);
        }
    }

    /// The descriptor leaves epoll by being closed: nothing else refers to its file.
    fn close(&mut self, key: Key, fd: OwnedFd, abort: bool) {
        if abort {
            // Should it fail, the kernel sends what is left and a FIN instead of a reset.
            let _ = ringshot_host::sockopt::linger0(&fd);
        }
        drop(fd);
        self.local.tally.connections.closed += 1;
        if let Some(peer) = self.peers.remove(key)
            && self.spare.len() < SPARE_CONNS
        {
            self.spare.push(peer.conn);
        }
    }

    fn on_timers(&mut self) {
        let now_ns = self.local.now_ns;
        while let Some(key) = self.timers.pop(now_ns) {
            self.on_deadline(key);
            if let Some(peer) = self.peers.get(key) {
                let deadline_ns = peer.conn.deadline_ns(&self.local.config.limits, self.local.draining);
                self.timers.again(key.slot(), deadline_ns, now_ns);
            }
        }
    }

    fn on_deadline(&mut self, key: Key) {
        let Some(peer) = self.peers.get_mut(key) else { return };
        let moment = &mut self.local.moment();
        let deadline_ns = peer.conn.deadline_ns(moment.limits, moment.ctx.draining);
        if deadline_ns.is_some_and(|deadline_ns| deadline_ns <= moment.now_ns) {
            peer.conn.expired(moment);
            self.settle(key);
        }
    }

    /// The stop begins with what the kernel has already queued, and ends with the grace time.
    fn on_stop(&mut self) -> Result<(), EngineError> {
        let now_ns = self.local.now_ns;
        if self.grace_until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
            self.for_all(|conn, local| conn.cut(&mut local.moment()));
        }
        if self.local.draining || !self.stop.is_requested() {
            return Ok(());
        }
        for listener in 0..self.listeners.len() {
            self.on_accept(listener, BACKLOG as usize)?;
        }
        self.gate.shut();
        self.listeners.clear();
        self.local.draining = true;
        self.grace_until_ns = Some(now_ns.saturating_add(self.local.config.limits.grace.as_ns()));
        self.for_all(|conn, _| conn.drain());
        Ok(())
    }

    fn for_all(&mut self, mut report: impl FnMut(&mut Conn, &mut Local)) {
        for slot in 0..self.peers.high_water() {
            let Some(key) = self.peers.key_at(slot) else { continue };
            if let Some(peer) = self.peers.get_mut(key) {
                report(&mut peer.conn, &mut self.local);
                self.settle(key);
            }
        }
    }

    fn on_gate(&mut self) -> Result<(), EngineError> {
        let Some(change) = self.gate.update(self.local.now_ns, self.peers.len()) else { return Ok(()) };
        let connections = &mut self.local.tally.connections;
        match change {
            Change::Accept => return self.listen(),
            Change::Full => connections.full += 1,
            Change::Refused => {
                connections.accept_refused += 1;
                self.refused.say(self.local.now_ns, OUT_OF_DESCRIPTORS);
            }
            Change::Shut => {}
        }
        self.listeners
            .iter()
            .try_for_each(|listener| epoll::delete(&self.epoll, listener).map_err(EngineError::call("epoll_ctl")))
    }

    fn listen(&self) -> Result<(), EngineError> {
        self.listeners.iter().enumerate().try_for_each(|(i, listener)| {
            let token = Token::new(Op::Accept, Key::new(i as u32, 0));
            epoll::add(&self.epoll, listener, EventData::new_u64(token.bits()), EventFlags::IN)
                .map_err(EngineError::call("epoll_ctl"))
        })
    }
}

impl Peer {
    fn receive(&mut self, moment: &mut Moment<'_>, buf: &mut [u8]) {
        let Some(fd) = self.conn.fd() else { return };
        match net::recv(fd, &mut *buf, RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.conn.ended(moment),
            Ok((len_bytes, _)) => self.conn.received(moment, &buf[..len_bytes]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => self.conn.failed(moment, is_reset(errno)),
        }
    }

    fn stop_reading(&mut self) {
        self.reading = false;
        self.conn.recv_off();
    }

    fn start_send(&mut self, moment: &mut Moment<'_>, out: Out) {
        self.unsent = Some(out);
        self.send(moment);
    }

    /// Sends what the socket takes. The rest waits until epoll says that it takes more.
    fn send(&mut self, moment: &mut Moment<'_>) {
        let (Some(mut out), Some(fd)) = (self.unsent.take(), self.conn.fd()) else { return };
        match net::send(fd, out.unsent(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(len_bytes) => {
                self.conn.sent_some(moment, len_bytes);
                if out.advance(len_bytes) {
                    return self.conn.sent(moment, out);
                }
                moment.ctx.tally.engine.short_sends += 1;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => self.conn.failed(moment, is_reset(errno)),
        }
        self.unsent = Some(out);
    }

    fn stop_send(&mut self, moment: &mut Moment<'_>) {
        if let Some(out) = self.unsent.take() {
            self.conn.sent(moment, out);
        }
    }

    /// Fails only when the peer is gone already (ENOTCONN), which the next receive reports.
    fn shut_down(&self) {
        if let Some(fd) = self.conn.fd() {
            let _ = net::shutdown(fd, Shutdown::Write);
        }
    }

    /// Tells epoll what the connection now waits for, when that has changed.
    fn tell(&mut self, epoll: &OwnedFd, key: Key) -> Result<(), Errno> {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, self.reading);
        wanted.set(EventFlags::OUT, self.unsent.is_some());
        let (Some(fd), false) = (self.conn.fd(), self.interest == Some(wanted)) else { return Ok(()) };
        let data = EventData::new_u64(Token::new(Op::Recv, key).bits());
        match self.interest.replace(wanted) {
            None => epoll::add(epoll, fd, data, wanted),
            Some(_) => epoll::modify(epoll, fd, data, wanted),
        }
    }
}

fn is_reset(errno: Errno) -> bool {
    matches!(errno, Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
