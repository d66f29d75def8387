//! The engine on tokio-uring 0.5: what that crate's own design gives, served by the same sessions.
//!
//! One task a connection, half-duplex: it reads, answers, writes, and reads again; one-shot operations on owned buffers;
//! the runtime sits on epoll, which watches the ring. What that costs, and what it can't do, is in docs/engines.md.
//!
//! Where it can't keep the engines' contract: a read or an accept that is given up stays in the kernel until the runtime
//! ends, because the crate cancels nothing by itself. A connection is therefore shut down in both directions before it is
//! dropped, which ends its read; and the pending accept goes on during a drain, its connections are served.

use std::cell::{Cell, RefCell};
use std::net::{Shutdown, TcpListener as StdListener};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ringshot_host::sockopt::{borrowed, linger0};
use ringshot_host::stop::Stop;
use ringshot_uring::{Key, Out, Slots};
use tokio::sync::Notify;
use tokio_uring::buf::BoundedBuf;
use tokio_uring::net::{TcpListener, TcpStream};

use crate::conn::{Act, Conn, State};
use crate::engine::EngineError;
use crate::gate::{Change, Gate, OUT_OF_DESCRIPTORS};
use crate::notice::Notice;
use crate::tally::Tally;
use crate::timers::{GRAIN_NS, Timers};
use crate::worker::{Local, Worker};

/// The receive buffer of a connection, owned by the kernel while a read is in flight.
const RECV_BYTES: usize = 16 * 1024;

/// What the tasks of a worker share. They run on one thread and borrow nothing across an await.
struct Shared {
    local: RefCell<Local>,
    gate: RefCell<Gate>,
    timers: RefCell<Timers<Key>>,
    /// By connection: how to get its task's attention.
    bells: RefCell<Slots<Rc<Notify>>>,
    /// Rung when the gate may have opened.
    gate_bell: Notify,
    refused: RefCell<Notice>,
    grace_until_ns: Cell<Option<u64>>,
    /// The grace time is over.
    cut: Cell<bool>,
    stop: Stop,
}

/// Serves until the worker is told to stop.
///
/// # Errors
/// When a listener can't be made blocking, as this runtime needs it.
pub fn run(mut worker: Worker) -> Result<Tally, EngineError> {
    let listeners = std::mem::take(&mut worker.listeners);
    let blocking = |listener: &StdListener| listener.set_nonblocking(false);
    listeners.iter().try_for_each(blocking).map_err(|source| EngineError::Call { call: "fcntl", source })?;
    let ring = &worker.config.ring;
    let mut builder = tokio_uring::builder();
    let mut setup = tokio_uring::uring_builder();
    setup.setup_cqsize(ring.ring_completions.next_power_of_two()).setup_clamp();
    builder.entries(ring.ring_entries.next_power_of_two()).uring_builder(&setup);
    let shared = Rc::new(Shared::new(worker));
    builder.start(serve_all(Rc::clone(&shared), listeners));
    let tally = shared.local.borrow().tally.clone();
    Ok(tally)
}

async fn serve_all(shared: Rc<Shared>, listeners: Vec<StdListener>) {
    let mut backlogs = Vec::new();
    for listener in listeners {
        backlogs.extend(listener.try_clone());
        tokio_uring::spawn(accept_all(Rc::clone(&shared), TcpListener::from_std(listener)));
    }
    while !shared.is_finished() {
        tokio::time::sleep(Duration::from_nanos(GRAIN_NS)).await;
        shared.look_at_clocks();
        shared.on_timers();
        if shared.stop.is_requested() && !shared.local.borrow().draining {
            shared.drain();
            backlogs.drain(..).for_each(|listener| take_backlog(&shared, &listener));
        }
        shared.on_grace();
        shared.on_gate();
    }
}

async fn accept_all(shared: Rc<Shared>, listener: TcpListener) {
    loop {
        while !shared.may_accept() {
            shared.gate_bell.notified().await;
        }
        match listener.accept().await {
            Ok((stream, _)) => start(&shared, stream),
            // Those that belong to the connection that was to be accepted are its own affair (accept(2)); the others are
            // a lack of descriptors or memory, and pass.
            Err(error) if is_shortage(&error) => shared.on_shortage(),
            Err(_) => {}
        }
    }
}

fn is_shortage(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Takes what waits in a listener's queue: closing it would reset those connections.
fn take_backlog(shared: &Rc<Shared>, listener: &StdListener) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while let Ok((stream, _)) = listener.accept() {
        if stream.set_nonblocking(false).is_ok() {
            start(shared, TcpStream::from_std(stream));
        }
    }
}

fn start(shared: &Rc<Shared>, stream: TcpStream) {
    let bell = Rc::new(Notify::new());
    let Ok(key) = shared.bells.borrow_mut().insert(Rc::clone(&bell)) else { return };
    shared.look_at_clocks();
    let now_ns = shared.local.borrow().now_ns;
    let open = shared.bells.borrow().len();
    shared.local.borrow_mut().count_accepted(borrowed(&stream), open);
    shared.timers.borrow_mut().watch(key.slot(), key, now_ns);
    let conn = Conn::unowned(now_ns);
    let shared = Rc::clone(shared);
    let peer = Peer { shared, stream, bell, key, conn, buf: Vec::new(), reading: false, sending: None };
    tokio_uring::spawn(peer.serve());
}

impl Shared {
    fn new(worker: Worker) -> Self {
        let local = Local::new(&worker);
        let capacity = worker.config.connections_per_worker();
        Self {
            gate: RefCell::new(Gate::new(capacity)),
            timers: RefCell::new(Timers::new(local.now_ns, worker.config.limits.shortest_timeout_ns())),
            // Each listener may have one accept under way when the limit is reached.
            bells: RefCell::new(Slots::with_capacity(capacity + worker.config.listen.len())),
            gate_bell: Notify::new(),
            refused: RefCell::default(),
            grace_until_ns: Cell::new(None),
            cut: Cell::new(false),
            stop: worker.stop,
            local: RefCell::new(local),
        }
    }

    fn look_at_clocks(&self) {
        self.local.borrow_mut().look_at_clocks();
    }

    fn is_finished(&self) -> bool {
        self.local.borrow().draining && self.bells.borrow().is_empty()
    }

    fn may_accept(&self) -> bool {
        let open = self.bells.borrow().len();
        self.on_gate();
        self.local.borrow().draining || self.gate.borrow().is_open(open)
    }

    fn on_shortage(&self) {
        let open = self.bells.borrow().len();
        self.gate.borrow_mut().refused(self.local.borrow().now_ns, open);
    }

    fn on_gate(&self) {
        let mut local = self.local.borrow_mut();
        let change = self.gate.borrow_mut().update(local.now_ns, self.bells.borrow().len());
        match change {
            Some(Change::Accept) => self.gate_bell.notify_waiters(),
            Some(Change::Full) => local.tally.connections.full += 1,
            Some(Change::Refused) => {
                local.tally.connections.accept_refused += 1;
                self.refused.borrow_mut().say(local.now_ns, OUT_OF_DESCRIPTORS);
            }
            Some(Change::Shut) | None => {}
        }
    }

    fn on_timers(&self) {
        let now_ns = self.local.borrow().now_ns;
        while let Some(key) = self.timers.borrow_mut().pop(now_ns) {
            if let Some(bell) = self.bells.borrow().get(key) {
                bell.notify_one();
            }
        }
    }

    fn drain(&self) {
        let mut local = self.local.borrow_mut();
        local.draining = true;
        self.gate.borrow_mut().shut();
        self.grace_until_ns.set(Some(local.now_ns.saturating_add(local.config.limits.grace.as_ns())));
        self.ring_all();
    }

    fn on_grace(&self) {
        if self.grace_until_ns.get().is_some_and(|until_ns| until_ns <= self.local.borrow().now_ns) {
            self.cut.set(true);
            self.ring_all();
        }
    }

    fn ring_all(&self) {
        self.bells.borrow().iter().for_each(|(_, bell)| bell.notify_one());
    }
}

/// A connection's task.
struct Peer {
    shared: Rc<Shared>,
    stream: TcpStream,
    bell: Rc<Notify>,
    key: Key,
    conn: Conn,
    buf: Vec<u8>,
    reading: bool,
    sending: Option<Out>,
}

impl Peer {
    async fn serve(mut self) {
        loop {
            self.settle();
            match self.conn.state() {
                State::Closed => break,
                _ if self.sending.is_some() => self.write().await,
                _ if self.reading => self.read().await,
                _ => {
                    self.bell.notified().await;
                    self.on_bell();
                }
            }
        }
        self.end();
    }

    /// Does what the connection asks for until it asks for nothing. Reads and writes are begun by `serve`, one at a time.
    fn settle(&mut self) {
        let mut local = self.shared.local.borrow_mut();
        let moment = &mut local.moment();
        while let Some(act) = self.conn.next(moment) {
            match act {
                Act::Recv => self.reading = true,
                Act::StopRecv => {
                    self.reading = false;
                    self.conn.recv_off();
                }
                Act::Send(out) => self.sending = Some(out),
                Act::StopSend => self.conn.sent(moment, self.sending.take().unwrap_or_default()),
                // Fails only when the peer is gone already, which the next read reports.
                Act::ShutdownWrite => drop(self.stream.shutdown(Shutdown::Write)),
                Act::Close { .. } => return,
            }
        }
    }

    async fn read(&mut self) {
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        buf.reserve(RECV_BYTES);
        let (result, buf) = {
            let stream = &self.stream;
            let mut read = pin!(stream.read(buf));
            loop {
                tokio::select! {
                    biased;
                    done = &mut read => break done,
                    () = self.bell.notified() => {}
                }
                let before = self.conn.state();
                on_bell(&self.shared, self.key, &mut self.conn);
                if self.conn.state() != before {
                    return;
                }
            }
        };
        self.shared.look_at_clocks();
        let mut local = self.shared.local.borrow_mut();
        local.tally.engine.events += 1;
        let moment = &mut local.moment();
        match result {
            Ok(0) => {
                self.reading = false;
                self.conn.recv_off();
                self.conn.ended(moment);
            }
            Ok(_) => self.conn.received(moment, &buf),
            Err(error) => self.conn.failed(moment, is_reset(&error)),
        }
        self.buf = buf;
    }

    async fn write(&mut self) {
        let Some(mut out) = self.sending.take() else { return };
        let bytes = std::mem::take(out.buf());
        let from = out.sent().min(bytes.len());
        let (result, slice) = {
            let stream = &self.stream;
            let mut write = pin!(stream.write(bytes.slice(from..)).submit());
            loop {
                tokio::select! {
                    biased;
                    done = &mut write => break done,
                    () = self.bell.notified() => {}
                }
                on_bell(&self.shared, self.key, &mut self.conn);
                if self.conn.state() == State::Closing {
                    return;
                }
            }
        };
        *out.buf() = slice.into_inner();
        self.shared.look_at_clocks();
        let mut local = self.shared.local.borrow_mut();
        local.tally.engine.events += 1;
        let moment = &mut local.moment();
        match result {
            Ok(len_bytes) => {
                self.conn.sent_some(moment, len_bytes);
                if out.advance(len_bytes) {
                    return self.conn.sent(moment, out);
                }
                moment.ctx.tally.engine.short_sends += 1;
            }
            Err(error) => self.conn.failed(moment, is_reset(&error)),
        }
        self.sending = Some(out);
    }

    fn on_bell(&mut self) {
        on_bell(&self.shared, self.key, &mut self.conn);
    }

    fn end(self) {
        if self.conn.aborts() {
            // Should it fail, the kernel sends what is left and a FIN instead of a reset.
            let _ = linger0(borrowed(&self.stream));
        }
        // Ends a read that was given up and would otherwise hold the socket open.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.shared.bells.borrow_mut().remove(self.key);
        self.shared.local.borrow_mut().tally.connections.closed += 1;
        self.shared.on_gate();
    }
}

/// Looks at what the bell may have been rung for: the deadline, the stop, the end of the grace time.
fn on_bell(shared: &Shared, key: Key, conn: &mut Conn) {
    shared.look_at_clocks();
    let mut local = shared.local.borrow_mut();
    let draining = local.draining;
    let moment = &mut local.moment();
    let (now_ns, limits) = (moment.now_ns, moment.limits);
    if shared.cut.get() {
        conn.cut(moment);
    } else if conn.deadline_ns(limits, draining).is_some_and(|deadline_ns| deadline_ns <= now_ns) {
        conn.expired(moment);
    } else if draining {
        conn.drain();
    }
    let deadline_ns = conn.deadline_ns(limits, draining);
    shared.timers.borrow_mut().again(key.slot(), deadline_ns, now_ns);
}

fn is_reset(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted)
}
