//! The engine on a scripted ring and a clock of the test's own: what the kernel does rarely, on order.

use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_http1::{Limits, Method};
use ringshot_stats::Counter;
use ringshot_uring::sim::{Asked, Sim};
use ringshot_uring::{Errno, Op, Token, Uring};

use super::uring::Engine;
use crate::config::WaitPolicy;
use crate::record::Class;
use crate::worker::{Job, Worker};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const MS: u64 = 1_000_000;

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(1_000 * MS) };
}

fn advance_ms(ms: u64) {
    NOW_NS.set(NOW_NS.get() + ms * MS);
}

/// An engine whose connections have all been begun.
fn engine(connections: u32, requests: u64, pipeline: u32, buffers: u16) -> Engine<Sim> {
    let job = Job {
        addr: "127.0.0.1:1".parse().expect("address"),
        request: REQUEST.to_vec(),
        method: Method::Get,
        limits: Limits::DEFAULT,
        pipeline,
        keep_alive: true,
        timeout: Duration::from_millis(800),
        length: None,
        wait: WaitPolicy::Block,
    };
    let worker = Worker {
        job: Arc::new(job),
        connections,
        requests: Some(requests),
        live: Arc::new(Counter::default()),
        stop: Stop::new(),
        waker: Waker::new().expect("eventfd"),
    };
    let mut engine = Engine::new(Sim::new(buffers, 4096), worker);
    engine.clock = || NOW_NS.get();
    engine.begin();
    engine
}

fn take(engine: &mut Engine<Sim>, op: Op) -> Asked {
    engine.ring.take(op).unwrap_or_else(|| panic!("no {op:?} was asked for: {:?}", engine.ring.asked))
}

/// Establishes a connection. Returns its receive and its first send.
fn connect(engine: &mut Engine<Sim>) -> (Asked, Asked) {
    let asked = take(engine, Op::Connect);
    engine.ring.complete(asked.token, Ok(0), false);
    turn(engine);
    (take(engine, Op::Recv), take(engine, Op::Send))
}

fn turn(engine: &mut Engine<Sim>) {
    engine.turn().expect("the ring goes on");
}

/// Lets everything that closing asks for succeed, until nothing more is asked.
fn close_all(engine: &mut Engine<Sim>) {
    while let Some(cancel) = engine.ring.take(Op::Cancel) {
        let target = cancel.target.expect("a cancel has a target");
        engine.ring.complete(Token::new(target, cancel.token.key()), Err(Errno::CANCELED), false);
        engine.ring.complete(cancel.token, Ok(0), false);
        turn(engine);
    }
    while let Some(close) = engine.ring.take(Op::Close) {
        engine.ring.complete(close.token, Ok(0), false);
        turn(engine);
    }
}

fn counts(engine: &Engine<Sim>) -> Vec<(Class, u64)> {
    let all = Class::ALL.into_iter().map(|class| (class, engine.record.count(class)));
    all.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_short_send_is_continued_where_it_stopped() {
    let mut engine = engine(1, 3, 3, 8);
    let (recv, send) = connect(&mut engine);
    assert_eq!(send.bytes, REQUEST.repeat(3), "one send for all that may be in flight");
    engine.ring.complete(send.token, Ok(30), false);
    turn(&mut engine);
    let rest = take(&mut engine, Op::Send);
    assert_eq!(rest.bytes, REQUEST.repeat(3)[30..]);
    engine.ring.complete(rest.token, Ok(rest.bytes.len() as u32), false);
    engine.ring.received(recv.token, &OK.repeat(3), true);
    turn(&mut engine);
    close_all(&mut engine);
    assert_eq!(counts(&engine), [(Class::Completed2xx, 3)]);
    assert_eq!((engine.record.sent_bytes, engine.conns.len()), (3 * REQUEST.len() as u64, 0));
}

#[test]
fn each_request_is_timed_from_the_enter_that_submits_it() {
    let mut engine = engine(1, 3, 2, 8);
    let (recv, send) = connect(&mut engine);
    engine.ring.complete(send.token, Ok(send.bytes.len() as u32), false);
    turn(&mut engine);
    advance_ms(10);
    engine.ring.received(recv.token, OK, true);
    turn(&mut engine);
    advance_ms(5);
    let third = take(&mut engine, Op::Send);
    assert_eq!(third.bytes, REQUEST, "one answered, one more sent");
    engine.ring.complete(third.token, Ok(third.bytes.len() as u32), false);
    turn(&mut engine);
    advance_ms(20);
    engine.ring.received(recv.token, &OK.repeat(2), true);
    turn(&mut engine);
    let latency = &engine.record.latency;
    let near = |ns: u64, ms: u64| ns.abs_diff(ms * MS) < ms * MS / 500;
    assert!(near(latency.min(), 10) && near(latency.quantile(0.5), 20) && near(latency.max(), 35), "{latency:?}");
}

#[test]
fn a_receive_that_ends_for_no_reason_is_asked_for_again() {
    let mut engine = engine(1, 2, 1, 8);
    let (recv, send) = connect(&mut engine);
    engine.ring.complete(send.token, Ok(send.bytes.len() as u32), false);
    engine.ring.received(recv.token, OK, false);
    turn(&mut engine);
    let again = take(&mut engine, Op::Recv);
    assert_eq!(again.token, recv.token);
    let send = take(&mut engine, Op::Send);
    engine.ring.complete(send.token, Ok(send.bytes.len() as u32), false);
    engine.ring.received(again.token, OK, true);
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Completed2xx, 2)]);
}

#[test]
fn a_receive_without_a_buffer_waits_and_is_asked_for_again() {
    let mut engine = engine(2, 2, 1, 1);
    let (first, _) = connect(&mut engine);
    let (second, _) = connect(&mut engine);
    assert!(engine.ring.received(first.token, OK, true));
    assert!(!engine.ring.received(second.token, OK, true), "the only buffer is lent");
    turn(&mut engine);
    let again = take(&mut engine, Op::Recv);
    assert_eq!(again.token, second.token, "the buffer came back in the same turn");
    assert!(engine.ring.received(again.token, OK, true));
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Completed2xx, 2)]);
}

#[test]
fn completions_of_a_connection_that_has_gone_are_dropped_and_counted() {
    let mut engine = engine(1, 3, 1, 8);
    let (recv, send) = connect(&mut engine);
    engine.ring.complete(send.token, Ok(send.bytes.len() as u32), false);
    engine.ring.complete(recv.token, Err(Errno::RESET), false);
    turn(&mut engine);
    close_all(&mut engine);
    advance_ms(20);
    let tick = take(&mut engine, Op::Tick);
    engine.ring.complete(tick.token, Ok(0), false);
    turn(&mut engine);
    let (next, _) = connect(&mut engine);
    assert_eq!(next.token.key().slot(), recv.token.key().slot());
    engine.ring.received(recv.token, OK, true);
    engine.ring.complete(send.token, Ok(5), false);
    turn(&mut engine);
    assert_eq!((engine.record.stale_completions, engine.ring.free_buffers()), (2, 8), "and their buffer came back");
    assert_eq!(counts(&engine), [(Class::Reset, 1)], "the answer was not taken for the new connection's");
}

#[test]
fn a_descriptor_is_closed_only_when_nothing_is_in_flight() {
    let mut engine = engine(1, 2, 1, 8);
    let (recv, send) = connect(&mut engine);
    engine.ring.received(recv.token, b"nonsense\r\n\r\n", true);
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Protocol, 1)]);
    assert!(engine.ring.take(Op::Close).is_none(), "receive and send are in flight");
    engine.ring.complete(recv.token, Err(Errno::CANCELED), false);
    turn(&mut engine);
    assert!(engine.ring.take(Op::Close).is_none(), "the send still is");
    engine.ring.complete(send.token, Err(Errno::CANCELED), false);
    turn(&mut engine);
    let close = take(&mut engine, Op::Close);
    assert_eq!(close.token.key(), recv.token.key());
}

#[test]
fn a_failed_send_leaves_the_last_word_to_the_receive() {
    let mut engine = engine(1, 1, 1, 8);
    let (recv, send) = connect(&mut engine);
    engine.ring.complete(send.token, Err(Errno(libc::EPIPE)), false);
    turn(&mut engine);
    assert_eq!(counts(&engine), []);
    engine.ring.received(
        recv.token,
        b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        true,
    );
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Completed4xx, 1)]);
}

#[test]
fn a_timeout_ends_all_requests_of_its_connection() {
    let mut engine = engine(2, 4, 2, 8);
    let (_, send) = connect(&mut engine);
    engine.ring.complete(send.token, Ok(send.bytes.len() as u32), false);
    turn(&mut engine);
    advance_ms(799);
    turn(&mut engine);
    assert_eq!(counts(&engine), []);
    advance_ms(101);
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Connect, 1), (Class::Timeout, 2)], "the other one never got through");
    assert_eq!(engine.record.unanswered.len(), 2);
}

#[test]
fn a_stop_wakes_a_sleeping_thread() {
    let mut engine = engine(2, 10, 2, 8);
    let (recv, send) = connect(&mut engine);
    engine.worker.stop.request();
    let wake = take(&mut engine, Op::Wake);
    engine.ring.complete(wake.token, Ok(1), false);
    turn(&mut engine);
    assert_eq!(counts(&engine), [(Class::Cancelled, 3)], "two written, one whose connect was in flight");
    engine.ring.complete(recv.token, Err(Errno::CANCELED), false);
    engine.ring.complete(send.token, Err(Errno::CANCELED), false);
    turn(&mut engine);
    close_all(&mut engine);
    assert_eq!((engine.record.started, engine.record.ended(), engine.conns.len()), (3, 3, 0));
}

/// Sockets of the engine are real even when the ring is not: none may be left behind.
#[test]
fn sockets_are_handed_to_the_ring_exactly_once() {
    let mut engine = engine(1, 1, 1, 8);
    let asked = take(&mut engine, Op::Connect);
    let ours = engine.conns.get(asked.token.key()).and_then(|conn| conn.fd.as_ref().map(OwnedFd::as_raw_fd));
    assert_eq!(ours, Some(asked.fd));
    engine.ring.complete(asked.token, Err(Errno(libc::ECONNREFUSED)), false);
    turn(&mut engine);
    close_all(&mut engine);
    assert_eq!(engine.ring.closed, [asked.fd]);
    assert_eq!(counts(&engine), [(Class::Connect, 1)]);
}
