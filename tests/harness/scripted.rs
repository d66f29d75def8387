//! A server that answers with the bytes it is told to, for testing clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::failure::Outcome;
use crate::response::find;

/// Between two parts: each shall arrive as a segment of its own.
const GAP: Duration = Duration::from_millis(1);
/// How often the server looks whether its client has gone.
const POLL: Duration = Duration::from_millis(1);
/// Answers every request that the script says nothing about.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// What to do on the first connection, once `after_requests` have arrived on it.
pub struct Script {
    /// Requests without a body to wait for.
    pub after_requests: usize,
    /// What to send then, each as a segment.
    pub parts: Vec<Vec<u8>>,
    /// Whether to shut down the sending side after the last part.
    pub eof: bool,
}

/// What the client did after the script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Connections that the client opened.
    pub connections: usize,
    /// Requests on the first connection beyond those that the script waited for.
    pub reused: usize,
}

/// Plays the script to whatever `client` starts at the address, until `client` returns.
pub fn play<T>(script: &Script, client: impl FnOnce(SocketAddr) -> T) -> Outcome<(T, Played)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let stage = &Stage { gone: AtomicBool::new(false), played: Mutex::default() };
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stage.gone.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let script = (stage.opened() == 1).then_some(script);
                        // What fails here has failed for the client, which says so.
                        scope.spawn(move || stage.serve(stream, script));
                    }
                    Err(_) => std::thread::sleep(POLL),
                }
            }
        });
        let result = client(addr);
        stage.gone.store(true, Ordering::Relaxed);
        result
    });
    Ok((result, *stage.played.lock().expect("no connection panics")))
}

struct Stage {
    gone: AtomicBool,
    played: Mutex<Played>,
}

impl Stage {
    /// Counts a connection; returns how many there are now.
    fn opened(&self) -> usize {
        let mut played = self.played.lock().expect("no connection panics");
        played.connections += 1;
        played.connections
    }

    fn serve(&self, stream: TcpStream, script: Option<&Script>) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL))?;
        let mut requests = Requests { stream: &stream, unread: Vec::new(), gone: &self.gone };
        if let Some(script) = script {
            for _ in 0..script.after_requests {
                requests.next()?;
            }
            perform(&stream, script)?;
        }
        loop {
            requests.next()?;
            self.played.lock().expect("no connection panics").reused += usize::from(script.is_some());
            (&stream).write_all(ANSWER)?;
        }
    }
}

fn perform(mut stream: &TcpStream, script: &Script) -> std::io::Result<()> {
    for part in &script.parts {
        stream.write_all(part)?;
        std::thread::sleep(GAP);
    }
    if script.eof { stream.shutdown(Shutdown::Write) } else { Ok(()) }
}

/// Finds the ends of request heads.
struct Requests<'a> {
    stream: &'a TcpStream,
    unread: Vec<u8>,
    gone: &'a AtomicBool,
}

impl Requests<'_> {
    /// Takes the next request; an error when there will be none.
    fn next(&mut self) -> std::io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                self.unread.drain(..end + 4);
                return Ok(());
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.unread.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(error) if self.gone.load(Ordering::Relaxed) => return Err(error),
                Err(_) => {}
            }
        }
    }
}
