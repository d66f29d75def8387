//! Peers that follow a script over real sockets, and runs against them.
#![allow(dead_code, unreachable_pub)] // Each test binary uses its part of this module, which has no other users.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringshot_client::record::Class;
use ringshot_client::{Config, Limit, Report};
use ringshot_host::stop::Stop;

/// A response without peculiarities.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// One end of an accepted connection.
pub struct Peer {
    stream: TcpStream,
    buf: Vec<u8>,
}

impl Peer {
    /// The next request's head; `None` when the client has closed. A body is left to [`Peer::body`].
    pub fn request(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buf.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head = self.buf.drain(..at + 4).collect();
                return String::from_utf8(head).ok();
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.buf.extend_from_slice(&bytes[..n]),
            }
        }
    }

    /// Reads the `len_bytes` of a body, in small pieces so that the sender has to wait.
    pub fn body(&mut self, len_bytes: usize) -> Vec<u8> {
        let mut body: Vec<u8> = self.buf.drain(..len_bytes.min(self.buf.len())).collect();
        let mut bytes = [0; 16 * 1024];
        while body.len() < len_bytes {
            let most = bytes.len().min(len_bytes - body.len());
            match self.stream.read(&mut bytes[..most]) {
                Ok(0) | Err(_) => break,
                Ok(n) => body.extend_from_slice(&bytes[..n]),
            }
        }
        body
    }

    /// Says something. The client may have gone: that is the script's affair.
    pub fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Closes in good order, after everything that the client says until it closes, too.
    pub fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.read_to_end(&mut Vec::new());
    }

    /// Resets.
    pub fn reset(self) {
        let socket = socket2::Socket::from(self.stream);
        let _ = socket.set_linger(Some(Duration::ZERO));
    }

    /// Waits for the client to close.
    pub fn linger(mut self) {
        let _ = self.stream.read_to_end(&mut Vec::new());
    }
}

/// A server that runs `script` on a thread of its own for each connection, with the connection's number.
pub struct Server {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Connections accepted.
    pub accepted: Arc<AtomicUsize>,
}

impl Server {
    /// Starts it. It lives until the test's process ends.
    pub fn start(script: impl Fn(Peer, usize) + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").expect("a port"), script)
    }

    /// The same on a listener of the test's own.
    pub fn on(listener: TcpListener, script: impl Fn(Peer, usize) + Send + Sync + 'static) -> Self {
        let addr = listener.local_addr().expect("bound");
        let accepted = Arc::new(AtomicUsize::new(0));
        let (script, counter) = (Arc::new(script), Arc::clone(&accepted));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = counter.fetch_add(1, Ordering::SeqCst);
                let script = Arc::clone(&script);
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    script(Peer { stream, buf: Vec::new() }, number);
                });
            }
        });
        Self { addr, accepted }
    }

    /// A server that answers each request on each connection with the same bytes.
    pub fn answering(response: &'static [u8]) -> Self {
        Self::start(move |mut peer, _| {
            while peer.request().is_some() {
                peer.say(response);
            }
        })
    }

    /// A server that answers the first request of each connection and keeps all others waiting. Also returns how many
    /// wait: a test that waits for that number needs no clock.
    pub fn answering_once() -> (Self, Arc<AtomicUsize>) {
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let server = Self::start(move |mut peer, _| {
            peer.request();
            peer.say(OK);
            if peer.request().is_some() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            peer.linger();
        });
        (server, waiting)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }
}

/// Waits until `counter` has reached `n`.
pub fn wait_for(counter: &AtomicUsize, n: usize) {
    while counter.load(Ordering::SeqCst) < n {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// An address at which nobody listens.
pub fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/", listener.local_addr().expect("bound"))
}

/// Runs with `requests` on `connections` of one thread, after `change`.
pub fn run_with(url: &str, connections: u32, requests: u64, change: impl FnOnce(&mut Config)) -> Report {
    let mut config = Config::new(url).expect("valid");
    config.threads = Some(1);
    config.connections = connections;
    config.limit = Limit::Requests(requests);
    config.timeout = Duration::from_secs(5);
    change(&mut config);
    let report = ringshot_client::run(config, Stop::new()).expect("runs");
    check_sums(&report);
    report
}

/// The same without any change.
pub fn run(url: &str, connections: u32, requests: u64) -> Report {
    run_with(url, connections, requests, |_| ())
}

/// Adds the sums up once more, from the classes.
pub fn check_sums(report: &Report) {
    let sum: u64 = report.classes.iter().map(|entry| entry.count).sum();
    assert_eq!(sum, report.requests.started, "{:?}", report.classes);
    assert!(report.requests.balanced);
    if let Some(planned) = report.requests.planned {
        assert_eq!(Some(planned - sum), report.requests.never_started);
    }
    let completed = report.latency.as_ref().map_or(0, |latency| latency.count);
    assert_eq!(completed, report.requests.completed, "a sample for each completed request");
    let statuses: u64 = report.statuses.iter().map(|entry| entry.count).sum();
    assert_eq!(statuses, report.requests.completed);
    let reasons: u64 = report.reasons.iter().map(|entry| entry.count).sum();
    assert_eq!(reasons, report.requests.failed + report.requests.cancelled, "a reason for each that was not");
}

/// Asserts that exactly these classes have these counts, and no other has any.
pub fn expect(report: &Report, expected: &[(Class, u64)]) {
    let got: Vec<_> =
        report.classes.iter().filter(|entry| entry.count > 0).map(|entry| (entry.class, entry.count)).collect();
    assert_eq!(got, expected, "{:?}", report.reasons);
}

/// The one reason that was given.
pub fn reason(report: &Report) -> &str {
    assert_eq!(report.reasons.len(), 1, "{:?}", report.reasons);
    &report.reasons[0].reason
}
