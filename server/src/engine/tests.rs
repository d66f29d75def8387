//! The contract of the seam, held by every engine that this machine has. Each test runs them one after the other.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use ringshot_host::stop::Stop;

use super::{Kind, choose};
use crate::config::{Machine, Options};
use crate::server::{Server, ServerError, Summary};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const LAST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// Nothing here takes this long; whoever waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

struct Running {
    addr: SocketAddr,
    stop: Stop,
    thread: JoinHandle<Result<Summary, ServerError>>,
}

impl Running {
    fn start(kind: Kind, toml: &str) -> Self {
        let file = format!("listen = ['127.0.0.1:0']\nworkers = 1\nengine = '{}'\n{toml}", kind.name());
        let options: Options = toml::from_str(&file).expect("well-formed");
        let config = options.resolve(&Machine::read().expect("readable")).expect("usable");
        let server = Server::bind(config).expect("bound");
        let addr = server.addresses()[0];
        let stop = Stop::new();
        let told = stop.clone();
        let thread = std::thread::spawn(move || server.serve(&told));
        Self { addr, stop, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("settable");
        stream.set_write_timeout(Some(PATIENCE)).expect("settable");
        stream
    }

    /// Stops the server. Every connection that was accepted must have been closed.
    fn end(self) -> Summary {
        self.stop.request();
        let summary = self.thread.join().expect("no panic").expect("a clean end");
        let connections = summary.total.connections;
        assert_eq!(connections.accepted, connections.closed, "{:?}: {summary:?}", summary.engine);
        summary
    }
}

/// Runs a test on every engine that works here.
fn on_every_engine(test: impl Fn(Kind)) {
    let kinds = [
        Kind::Epoll,
        Kind::Uring,
        #[cfg(feature = "tokio-uring")]
        Kind::TokioUring,
    ];
    for kind in kinds {
        let options: Options = toml::from_str(&format!("engine = '{}'", kind.name())).expect("well-formed");
        let config = options.resolve(&Machine::read().expect("readable")).expect("usable");
        match choose(&config) {
            Ok(_) => test(kind),
            Err(why) => println!("skipped {}: {why}", kind.name()),
        }
    }
}

/// Reads whole answers until there are `count`; returns their bodies' total length and the rest of the buffer's text.
fn read_answers(stream: &mut TcpStream, count: usize) -> String {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    while text.windows(11).filter(|window| window == b"hello world").count() < count {
        let len_bytes = stream.read(&mut chunk).expect("an answer");
        assert!(len_bytes > 0, "closed after {:?}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&chunk[..len_bytes]);
    }
    String::from_utf8(text).expect("ASCII")
}

fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("a FIN, not a reset");
    all
}

#[test]
fn keeps_alive_and_answers_pipelined_requests_in_one_go() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        let mut stream = server.connect();
        for count in [1, 16, 1] {
            stream.write_all(&GET.repeat(count)).expect("sent");
            let text = read_answers(&mut stream, count);
            assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), count);
        }
        drop(stream);
        let summary = server.end();
        assert_eq!(summary.total.requests, 18);
        assert_eq!(summary.total.responses.success, 18);
    });
}

#[test]
fn a_request_may_come_byte_by_byte() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        let mut stream = server.connect();
        stream.set_nodelay(true).expect("settable");
        for byte in GET.chunks(1) {
            stream.write_all(byte).expect("sent");
        }
        read_answers(&mut stream, 1);
        server.end();
    });
}

#[test]
fn closes_with_a_fin_when_it_said_so_and_after_a_half_close() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        let mut stream = server.connect();
        stream.write_all(LAST).expect("sent");
        assert!(read_to_end(&mut stream).ends_with(b"hello world"));

        let mut stream = server.connect();
        stream.write_all(GET).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        assert!(read_to_end(&mut stream).ends_with(b"hello world"), "a half-closed request is served");

        // Unread input behind the error would turn the close into a reset if it were not staged.
        let mut stream = server.connect();
        stream.write_all(&[b"BAD\r\n\r\n", &[b'x'; 100_000][..]].concat()).expect("sent");
        let text = String::from_utf8(read_to_end(&mut stream)).expect("ASCII");
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
        assert_eq!(text.matches("HTTP/1.1").count(), 1, "{text}");
        server.end();
    });
}

#[test]
fn a_large_answer_to_a_slow_reader_arrives_whole() {
    let body = "x".repeat(8 << 20);
    let path = std::env::temp_dir().join(format!("ringshot-large-answer-{}", std::process::id()));
    std::fs::write(&path, &body).expect("writable");
    on_every_engine(|kind| {
        let server = Running::start(kind, &format!("[[route]]\npath = '/'\nbody_file = '{}'", path.display()));
        let mut stream = server.connect();
        stream.write_all(&[GET, LAST].concat()).expect("sent");
        std::thread::sleep(Duration::from_millis(50));
        let all = read_to_end(&mut stream);
        let ends = all.windows(4).enumerate().filter(|(_, window)| window == b"\r\n\r\n").map(|(at, _)| at + 4);
        let ends: Vec<_> = ends.collect();
        assert_eq!(ends.len(), 2);
        assert!(all[ends[0]..ends[0] + body.len()] == *body.as_bytes(), "the first body is not what was configured");
        assert!(all[ends[1]..] == *body.as_bytes(), "the second body is not what was configured");
        server.end();
    });
    std::fs::remove_file(&path).expect("removable");
}

#[test]
fn deadlines_are_met_in_every_phase() {
    on_every_engine(|kind| {
        let limits = "[limits]\nfirst_byte_timeout = '200ms'\nhead_timeout = '300ms'\nbody_timeout = '300ms'\n\
                      idle_timeout = '200ms'\nlinger_timeout = '100ms'";
        let server = Running::start(kind, limits);
        assert_eq!(read_to_end(&mut server.connect()), b"", "no byte: closed without a word");
        let post = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf";
        for (torn, answer) in [(&b"GET / HT"[..], "HTTP/1.1 408 "), (post, "HTTP/1.1 408 "), (GET, "HTTP/1.1 200 ")] {
            let mut stream = server.connect();
            stream.write_all(torn).expect("sent");
            let text = String::from_utf8(read_to_end(&mut stream)).expect("ASCII");
            assert!(text.starts_with(answer), "{text}");
            assert_eq!(text.contains("Connection: close"), answer.contains("408"), "{text}");
        }
        let errors = server.end().total.errors;
        let counts = [errors.first_byte_timeout, errors.head_timeout, errors.body_timeout, errors.idle_timeout];
        assert_eq!(counts, [1; 4], "{kind:?}");
    });
}

#[test]
fn a_peer_that_never_reads_is_reset() {
    on_every_engine(|kind| {
        let body = "x".repeat(200_000);
        let file = format!("[limits]\nwrite_timeout = '200ms'\n[[route]]\npath = '/'\nbody = '{body}'");
        let server = Running::start(kind, &file);
        let mut stream = server.connect();
        stream.write_all(&GET.repeat(200)).expect("sent");
        // The end of the connection shows only in writing: reading is what this peer does not do.
        while stream.write_all(GET).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(server.end().total.errors.write_timeout, 1);
    });
}

#[test]
fn more_connections_than_allowed_wait_for_their_turn() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "[limits]\nmax_connections = 2");
        let mut streams: Vec<_> = (0..6).map(|_| server.connect()).collect();
        for stream in &mut streams {
            stream.write_all(LAST).expect("sent");
        }
        for stream in &mut streams {
            assert!(read_to_end(stream).ends_with(b"hello world"));
            stream.shutdown(Shutdown::Both).expect("closed");
        }
        let total = server.end().total;
        assert_eq!(total.requests, 6);
        assert!(total.peak_connections <= 2, "{}", total.peak_connections);
        assert!(total.connections.full > 0);
    });
}

#[test]
fn connections_come_and_go_and_leave_nothing_behind() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        for round in 0..300 {
            let mut stream = server.connect();
            match round % 4 {
                0 => {}
                1 => stream.write_all(b"GET / HT").expect("sent"),
                2 => stream.write_all(GET).expect("sent"),
                _ => {
                    stream.write_all(LAST).expect("sent");
                    read_to_end(&mut stream);
                }
            }
        }
        let total = server.end().total;
        assert_eq!(total.connections.accepted, 300);
        assert_eq!(total.errors.protocol, 0);
    });
}

#[test]
fn the_stop_finishes_what_is_in_flight() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        let (mut idle, mut busy, mut early) = (server.connect(), server.connect(), server.connect());
        idle.write_all(GET).expect("sent");
        read_answers(&mut idle, 1);
        busy.write_all(&GET[..10]).expect("sent");
        // The answer to a request behind it on another connection shows that the server has read what came before.
        early.write_all(GET).expect("sent");
        read_answers(&mut early, 1);
        server.stop.request();
        assert_eq!(read_to_end(&mut idle), b"", "idle connections are closed");
        busy.write_all(&GET[10..]).expect("sent");
        let text = String::from_utf8(read_to_end(&mut busy)).expect("ASCII");
        assert!(text.contains("Connection: close") && text.ends_with("hello world"), "{text}");
        drop((idle, early));
        assert_eq!(server.end().total.connections.cut, 0);
    });
}

#[test]
fn the_grace_time_cuts_off_who_does_not_finish() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "[limits]\ngrace = '100ms'");
        let mut stream = server.connect();
        stream.write_all(&[GET, b"GET / HT"].concat()).expect("sent");
        read_answers(&mut stream, 1);
        assert_eq!(server.end().total.connections.cut, 1);
    });
}

#[test]
fn a_busy_address_is_refused() {
    on_every_engine(|kind| {
        let server = Running::start(kind, "");
        let options: Options =
            toml::from_str(&format!("engine = 'epoll'\nlisten = ['{}']", server.addr)).expect("well-formed");
        let config = options.resolve(&Machine::read().expect("readable")).expect("usable");
        let error = Server::bind(config).err().expect("in use");
        assert_eq!(error.exit_code(), 3, "{error}");
        server.end();
    });
}
