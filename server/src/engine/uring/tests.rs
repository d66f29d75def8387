//! The engine on a scripted ring: what public io_uring servers get wrong, made to happen.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_uring::sim::{Asked, Sim};
use ringshot_uring::{Errno, Op, Token};

use super::*;
use crate::app::App;
use crate::config::{Machine, Options};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: t\r\n\r\n";
const LAST_GET: &[u8] = b"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";

struct Bench {
    engine: Engine<Sim>,
    accept: Token,
}

impl Bench {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let machine = Machine { allowed_cpus: "0".parse().expect("a list"), workers: 1 };
        let config = options.resolve(&machine).expect("a config");
        let app = App::new(&config).expect("routes");
        let worker = Worker {
            index: 0,
            cpu: None,
            listeners: vec![TcpListener::bind("127.0.0.1:0").expect("bind")],
            config: Arc::new(config),
            app: Arc::new(app),
            stop: Stop::new(),
            waker: Waker::new().expect("eventfd"),
        };
        let mut engine = Engine::new(Sim::new(4, 4096), worker).expect("an engine");
        let accept = engine.ring.take(Op::Accept).expect("accepting from the start").token;
        Self { engine, accept }
    }

    fn turn(&mut self) {
        self.engine.turn().expect("a turn");
    }

    /// Brings a connection. Returns its receive and the peer's end.
    fn connect(&mut self) -> (Token, UnixStream) {
        let (near, far) = UnixStream::pair().expect("a pair");
        self.engine.ring.accepted(self.accept, near.into(), true);
        self.turn();
        (self.take(Op::Recv).token, far)
    }

    fn take(&mut self, op: Op) -> Asked {
        self.engine.ring.take(op).unwrap_or_else(|| panic!("{op:?} was not asked for"))
    }

    fn nothing(&mut self, op: Op) {
        assert_eq!(self.engine.ring.take(op), None);
    }

    fn receive(&mut self, recv: Token, data: &[u8]) {
        assert!(self.engine.ring.received(recv, data, true));
        self.turn();
    }

    fn finish(&mut self, token: Token, result: Result<u32, Errno>) {
        self.engine.ring.complete(token, result, false);
        self.turn();
    }

    /// Ends a connection by a reset.
    fn end(&mut self, recv: Token) {
        self.finish(recv, Err(Errno::RESET));
        let close = self.take(Op::Close);
        self.finish(close.token, Ok(0));
    }

    fn send_all(&mut self) -> Vec<u8> {
        let send = self.take(Op::Send);
        self.finish(send.token, Ok(send.bytes.len() as u32));
        send.bytes
    }
}

#[test]
fn pipelined_requests_are_answered_by_one_send_and_the_buffer_goes_back() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    bench.receive(recv, &GET.repeat(16));
    let answers = bench.send_all();
    assert_eq!(String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK").count(), 16);
    bench.nothing(Op::Send);
    assert_eq!(bench.engine.ring.free_buffers(), 4);
    assert_eq!(bench.engine.local.tally.requests, 16);
}

#[test]
fn report_15_one_send_in_flight_and_a_short_one_is_continued() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    bench.receive(recv, GET);
    let first = bench.take(Op::Send);
    bench.receive(recv, GET);
    bench.nothing(Op::Send);
    bench.finish(first.token, Ok(10));
    let rest = bench.take(Op::Send);
    assert_eq!(rest.bytes, first.bytes[10..]);
    bench.finish(rest.token, Ok(rest.bytes.len() as u32));
    assert_eq!(bench.send_all().len(), first.bytes.len(), "the second answer waited for the first");
    assert_eq!(bench.engine.local.tally.engine.short_sends, 1);
}

#[test]
fn t4_a_receive_that_ends_is_asked_for_again_whatever_it_says() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    assert!(bench.engine.ring.received(recv, GET, false));
    bench.turn();
    assert_eq!(bench.take(Op::Recv).token, recv);
    bench.send_all();
}

#[test]
fn report_1_no_buffer_parks_the_connection_and_closes_nobody() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    bench.engine.ring.complete(recv, Err(Errno::NO_BUFFERS), false);
    let held: Vec<_> = (0..4).map(|_| hold_a_buffer(&mut bench, recv)).collect();
    bench.turn();
    bench.nothing(Op::Recv);
    bench.turn();
    bench.nothing(Op::Recv);
    assert_eq!(bench.engine.parked.len(), 1, "waiting, not spinning");
    for id in held {
        bench.engine.ring.release(id);
    }
    bench.turn();
    assert_eq!(bench.take(Op::Recv).token, recv, "a returned buffer re-arms it");
    bench.nothing(Op::Close);
    assert_eq!(bench.engine.local.tally.engine.parked, 1);
}

/// Takes a buffer out of the pool as if it were busy elsewhere.
fn hold_a_buffer(bench: &mut Bench, recv: Token) -> ringshot_uring::BufId {
    let before = bench.engine.ring.next();
    assert!(bench.engine.ring.received(recv, b"x", true));
    let held = bench.engine.ring.next().expect("data").buffer.expect("a buffer");
    if let Some(done) = before {
        bench.engine.ring.complete(done.token, done.result, done.more);
    }
    held
}

#[test]
fn report_7_a_late_completion_never_reaches_the_next_tenant_of_the_slot() {
    let mut bench = Bench::new();
    let (old, peer) = bench.connect();
    bench.end(old);
    drop(peer);
    let (new, _peer) = bench.connect();
    assert_eq!(old.key().slot(), new.key().slot(), "the slot is taken again");
    bench.receive(old, GET);
    bench.nothing(Op::Send);
    assert_eq!(bench.engine.local.tally.engine.stale, 1);
    assert_eq!(bench.engine.ring.free_buffers(), 4, "a stale completion's buffer goes back too");
    bench.receive(new, GET);
    assert!(!bench.send_all().is_empty());
}

#[test]
fn report_8_nothing_is_closed_while_a_receive_is_in_flight() {
    let mut bench = Bench::new();
    let (recv, mut peer) = bench.connect();
    bench.receive(recv, LAST_GET);
    bench.nothing(Op::Close);
    assert!(bench.send_all().windows(17).any(|line| line == b"Connection: close"));
    let mut end = Vec::new();
    peer.read_to_end(&mut end).expect("the writing side is shut down");
    bench.nothing(Op::Close);
    bench.finish(recv, Ok(0));
    let close = bench.take(Op::Close);
    assert_eq!(bench.engine.conns.len(), 1, "the slot is freed by the close's completion");
    bench.finish(close.token, Ok(0));
    assert_eq!(bench.engine.conns.len(), 0);
}

#[test]
fn a_reset_in_the_middle_of_a_send_waits_for_the_send() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    bench.receive(recv, GET);
    let send = bench.take(Op::Send);
    bench.finish(recv, Err(Errno::RESET));
    assert_eq!(bench.take(Op::Cancel).target, Some(Op::Send));
    bench.nothing(Op::Close);
    bench.finish(send.token, Err(Errno::CANCELED));
    bench.take(Op::Close);
    assert_eq!(bench.engine.local.tally.errors.reset, 1);
}

#[test]
fn report_10_an_accept_that_ends_is_asked_for_again() {
    let mut bench = Bench::new();
    bench.finish(bench.accept, Err(Errno(libc_econnaborted())));
    assert_eq!(bench.take(Op::Accept).token, bench.accept);
}

/// ECONNABORTED of errno(3).
fn libc_econnaborted() -> i32 {
    rustix::io::Errno::CONNABORTED.raw_os_error()
}

#[test]
fn report_11_out_of_descriptors_pauses_accepting_until_one_is_free() {
    let mut bench = Bench::new();
    let (recv, _peer) = bench.connect();
    bench.finish(bench.accept, Err(Errno(rustix::io::Errno::MFILE.raw_os_error())));
    bench.nothing(Op::Accept);
    assert!(bench.take(Op::Tick).at_ns > 0, "it will look again");
    bench.turn();
    bench.nothing(Op::Accept);
    bench.end(recv);
    assert_eq!(bench.take(Op::Accept).token, bench.accept, "a descriptor is free");
    assert_eq!(bench.engine.local.tally.connections.accept_refused, 1);
}

#[test]
fn at_the_limit_accepting_stops_and_what_came_in_between_waits_for_a_slot() {
    let limits = crate::limits::LimitOptions { max_connections: Some(2), ..Default::default() };
    let mut bench = Bench::with(Options { limits, ..Options::default() });
    let (first, _a) = bench.connect();
    let (second, _b) = bench.connect();
    assert_eq!(bench.take(Op::Cancel).target, Some(Op::Accept));
    let (near, _c) = UnixStream::pair().expect("a pair");
    bench.engine.ring.accepted(bench.accept, near.into(), true);
    bench.turn();
    bench.nothing(Op::Recv);
    bench.finish(bench.accept, Err(Errno::CANCELED));
    bench.nothing(Op::Accept);
    bench.end(first);
    let third = bench.take(Op::Recv).token;
    bench.nothing(Op::Accept);
    bench.receive(third, GET);
    assert!(!bench.send_all().is_empty());
    bench.end(second);
    assert_eq!(bench.take(Op::Accept).token, bench.accept);
    let tally = &bench.engine.local.tally;
    assert_eq!((tally.connections.full, tally.peak_connections), (1, 2));
}

#[test]
fn a_stop_closes_what_is_idle_and_waits_for_the_rest() {
    let mut bench = Bench::new();
    let (idle, _a) = bench.connect();
    let (busy, _b) = bench.connect();
    bench.receive(idle, GET);
    bench.send_all();
    bench.receive(busy, &GET[..10]);
    bench.engine.stop.request();
    let wake = bench.take(Op::Wake);
    bench.finish(wake.token, Ok(1));
    assert_eq!(bench.take(Op::Cancel).target, Some(Op::Accept));
    bench.finish(bench.accept, Err(Errno::CANCELED));
    bench.finish(idle, Ok(0));
    let close = bench.take(Op::Close);
    assert_eq!(close.token.key(), idle.key());
    bench.finish(close.token, Ok(0));
    assert!(!bench.engine.is_finished(), "a request is half here");
    bench.receive(busy, &GET[10..]);
    assert!(bench.send_all().windows(17).any(|line| line == b"Connection: close"));
    bench.finish(busy, Ok(0));
    let close = bench.take(Op::Close);
    bench.finish(close.token, Ok(0));
    assert!(bench.engine.is_finished());
}

#[test]
fn a_ring_that_can_not_go_on_ends_the_worker() {
    let mut bench = Bench::new();
    bench.engine.ring.fail_enter = Some(RingError::Lost { errno: Errno(74) });
    assert!(matches!(bench.engine.turn(), Err(EngineError::Ring(RingError::Lost { .. }))));
}
