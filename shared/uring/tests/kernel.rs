//! The ring against the real kernel. Skipped by name where the kernel refuses a ring.
#![allow(clippy::print_stderr)] // A skipped test says so.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use ringshot_uring::params::Flag;
use ringshot_uring::{Completion, Errno, Key, Op, Out, Ring, RingConfig, Uring, Wait};

const KEY: Key = Key::new(1, 1);
const OTHER: Key = Key::new(2, 1);

fn ring(config: &RingConfig) -> Option<Ring> {
    match Ring::new(config) {
        Ok(ring) => Some(ring),
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("no ring: {error}"),
    }
}

fn small() -> RingConfig {
    RingConfig { entries: 64, cq_entries: 256, buffers: 4, buffer_len_bytes: 512, ..RingConfig::default() }
}

/// Waits for completions until `enough`. One enter brings about 20 deferred ones at the most, so the bound is a time.
fn gather(ring: &mut Ring, mut enough: impl FnMut(&[Completion]) -> bool) -> Vec<Completion> {
    let mut all = Vec::new();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::time::Instant::now() < end {
        ring.enter(Wait::at_most(100_000_000)).expect("enter");
        while let Some(done) = ring.next() {
            all.push(done);
        }
        if enough(&all) {
            return all;
        }
    }
    panic!("waited in vain; got {} completions, the last {:?}", all.len(), all.last());
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    (near, listener.accept().expect("accept").0)
}

#[test]
fn accept_recv_send_close_in_one_life() {
    let Some(mut ring) = ring(&small()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    ring.accept(KEY, listener.as_raw_fd());
    ring.enter(Wait::POLL).expect("enter");
    let mut peer = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    let mut accepted = gather(&mut ring, |all| !all.is_empty()).remove(0);
    assert!(accepted.more, "accept stays armed");
    let fd = accepted.take_fd().expect("a connection");

    ring.recv(OTHER, fd.as_raw_fd());
    ring.enter(Wait::POLL).expect("enter");
    peer.write_all(b"ping").expect("write");
    let mut got = gather(&mut ring, |all| !all.is_empty()).remove(0);
    let id = got.buffer.take().expect("data");
    assert_eq!((got.op(), got.key(), ring.bytes(&id)), (Op::Recv, OTHER, &b"ping"[..]));
    ring.release(id);

    let mut out = Out::default();
    out.buf().extend_from_slice(b"pong");
    ring.send(OTHER, fd.as_raw_fd(), out);
    let sent = gather(&mut ring, |all| !all.is_empty()).remove(0);
    assert_eq!(sent.result, Ok(4));
    assert!(ring.take_out(OTHER).expect("done").advance(4));
    let mut answer = [0; 4];
    peer.read_exact(&mut answer).expect("read");
    assert_eq!(&answer, b"pong");

    ring.cancel(OTHER, Op::Recv);
    let ended = gather(&mut ring, |all| all.len() == 2);
    let recv = ended.iter().find(|done| done.op() == Op::Recv).expect("terminal completion");
    assert_eq!((recv.result, recv.more), (Err(Errno::CANCELED), false));
    ring.close(OTHER, fd);
    gather(&mut ring, |all| !all.is_empty());
    assert_eq!(peer.read(&mut answer).expect("read"), 0, "closed on the ring");
    assert_eq!(ring.free_buffers(), 4);
}

#[test]
fn t4_end_of_stream_ends_the_receive_without_more() {
    let Some(mut ring) = ring(&small()) else { return };
    let (near, far) = pair();
    ring.recv(KEY, far.as_raw_fd());
    (&near).write_all(b"last words").expect("write");
    drop(near);
    let all = gather(&mut ring, |all| all.iter().any(|done| !done.more));
    assert_eq!(all.last().expect("some").result, Ok(0));
    let bytes: usize = all.iter().filter_map(|done| done.buffer.as_ref()).map(|id| id.len()).sum();
    assert_eq!(bytes, 10);
}

#[test]
fn t5_an_empty_buffer_ring_ends_receives_and_a_returned_buffer_serves_them() {
    let Some(mut ring) = ring(&small()) else { return };
    let (near, far) = pair();
    ring.recv(KEY, far.as_raw_fd());
    ring.enter(Wait::POLL).expect("enter");
    (&near).write_all(&[7; 4000]).expect("write");
    let mut all = gather(&mut ring, |all| all.iter().any(|done| !done.more));
    assert_eq!(all.pop().expect("last").result, Err(Errno::NO_BUFFERS));
    assert_eq!((ring.free_buffers(), ring.counters().no_buffers), (0, 1));
    let mut got: usize = all.into_iter().filter_map(|done| done.buffer).map(|id| give_back(&mut ring, id)).sum();
    ring.recv(KEY, far.as_raw_fd());
    for _ in 0..50 {
        ring.enter(Wait::at_most(100_000_000)).expect("enter");
        let mut ended = false;
        while let Some(done) = ring.next() {
            ended |= !done.more;
            got += done.buffer.map_or(0, |id| give_back(&mut ring, id));
        }
        if got == 4000 {
            break;
        }
        if ended {
            ring.recv(KEY, far.as_raw_fd());
        }
    }
    assert_eq!(got, 4000, "no byte lost over the shortage");
}

fn give_back(ring: &mut Ring, id: ringshot_uring::BufId) -> usize {
    let len = id.len();
    ring.release(id);
    len
}

#[test]
fn a_full_submission_queue_loses_nothing() {
    let Some(mut ring) = ring(&small()) else { return };
    for slot in 0..1000 {
        ring.tick(Key::new(slot, 0), 1);
    }
    let all = gather(&mut ring, |all| all.len() == 1000);
    let mut slots: Vec<usize> = all.iter().map(|done| done.key().slot()).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..1000).collect::<Vec<_>>());
    assert_eq!(ring.in_flight(), 0);
}

#[test]
fn t10_an_overflowing_completion_queue_loses_nothing() {
    // Without deferral completions are posted as they happen: 5000 into a queue of 128.
    let config = RingConfig { cq_entries: 128, without: vec![Flag::DeferTaskrun], ..small() };
    let Some(mut ring) = ring(&config) else { return };
    for slot in 0..5000 {
        ring.tick(Key::new(slot, 0), 1);
    }
    let all = gather(&mut ring, |all| all.len() == 5000);
    let mut slots: Vec<usize> = all.iter().map(|done| done.key().slot()).collect();
    slots.sort_unstable();
    assert_eq!(slots, (0..5000).collect::<Vec<_>>());
    assert!(ring.counters().cq_overflows > 0, "it did overflow: {:?}", ring.counters());
}

#[test]
fn dropping_a_busy_ring_ends_what_is_in_flight() {
    let Some(mut ring) = ring(&small()) else { return };
    let (near, far) = pair();
    ring.recv(KEY, far.as_raw_fd());
    let mut out = Out::default();
    out.buf().resize(32 << 20, 1);
    ring.send(OTHER, far.as_raw_fd(), out);
    ring.tick(Key::new(3, 0), u64::MAX / 2);
    ring.enter(Wait::POLL).expect("enter");
    assert_eq!(ring.in_flight(), 3);
    drop(ring);
    drop(far);
    // The peer sees the end: nothing in the kernel holds on to the socket.
    let mut rest = Vec::new();
    near.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("timeout");
    (&near).read_to_end(&mut rest).expect("end of stream");
    assert!(rest.len() < 32 << 20, "the send was cut short, not finished");
}

#[test]
fn every_rung_of_the_ladder_serves() {
    for given_up in 0..=Flag::LADDER.len() {
        let config = RingConfig { without: Flag::LADDER[..given_up].to_vec(), ..small() };
        let Some(mut ring) = ring(&config) else { return };
        let (near, far) = pair();
        ring.recv(KEY, far.as_raw_fd());
        (&near).write_all(b"x").expect("write");
        let got = gather(&mut ring, |all| !all.is_empty()).remove(0);
        assert_eq!(got.result, Ok(1), "{}", ring.setup());
    }
}

#[test]
fn a_cancelled_connect_and_a_refused_one_are_told_apart() {
    let Some(mut ring) = ring(&small()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let addr = listener.local_addr().expect("address");
    drop(listener);
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("socket");
    ring.connect(KEY, socket.as_raw_fd(), addr.into());
    let done = gather(&mut ring, |all| !all.is_empty()).remove(0);
    assert!(done.result.is_err_and(Errno::is_refused), "{done:?}");
}
