//! A client that sends exactly the bytes it is given, when it is told to.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::failure::{Outcome, shown};
use crate::programs::PATIENCE;
use crate::response::Response;
use crate::{ensure, fail};

/// One connection to the server under test.
pub struct Raw {
    stream: TcpStream,
    /// Received and not yet taken by [`Raw::response`].
    unread: Vec<u8>,
}

/// How the server's side of the connection stands once nothing more arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// FIN: an orderly end.
    Closed,
    /// RST: the peer may have lost bytes of the answer.
    Reset,
    /// Open, and nothing came for as long as the caller wanted to wait.
    Silent,
}

impl Raw {
    /// Connects; each write then leaves as a segment of its own.
    pub fn connect(addr: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, unread: Vec::new() })
    }

    /// The socket itself, for options.
    pub fn socket(&self) -> socket2::SockRef<'_> {
        socket2::SockRef::from(&self.stream)
    }

    /// Sends all of the bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Outcome {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Sends to a peer that is free to close in the middle of it.
    pub fn send_unless_closed(&mut self, bytes: &[u8]) -> Outcome {
        match self.stream.write_all(bytes) {
            Err(error) if !is_closed(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Says that nothing more will be sent; the other direction stays open.
    pub fn half_close(&mut self) -> Outcome {
        match self.stream.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Leaves with RST instead of FIN.
    pub fn abort(self) -> Outcome {
        Ok(self.socket().set_linger(Some(Duration::ZERO))?)
    }

    /// Sends one request and reads its answer.
    pub fn ask(&mut self, request: &str) -> Outcome<Response> {
        self.send(request.as_bytes())?;
        self.response(request.starts_with("HEAD "))
    }

    /// The next response, waiting for it as long as it takes within [`PATIENCE`].
    pub fn response(&mut self, to_head: bool) -> Outcome<Response> {
        loop {
            if let Some(response) = self.buffered(to_head)? {
                return Ok(response);
            }
            if let Some(end) = self.fill(PATIENCE)? {
                return fail!("{end:?} instead of a response, after {}", shown(&self.unread));
            }
        }
    }

    /// The next response if it comes within `patience`; how the connection stands if not.
    pub fn response_within(&mut self, patience: Duration, to_head: bool) -> Outcome<Result<Response, End>> {
        loop {
            if let Some(response) = self.buffered(to_head)? {
                return Ok(Ok(response));
            }
            if let Some(end) = self.fill(patience)? {
                let torn = !self.unread.is_empty();
                ensure!(!torn, "{end:?} in the middle of a response: {}", shown(&self.unread));
                return Ok(Err(end));
            }
        }
    }

    /// How the connection stands after at most `patience` without a byte; any byte is a failure.
    pub fn end_within(&mut self, patience: Duration) -> Outcome<End> {
        let end = if self.unread.is_empty() { self.fill(patience)? } else { None };
        match end {
            Some(end) => Ok(end),
            None => fail!("unexpected bytes {}", shown(&self.unread)),
        }
    }

    /// The server must close now: with FIN, and without another byte.
    pub fn closed(&mut self) -> Outcome {
        let end = self.end_within(PATIENCE)?;
        ensure!(end == End::Closed, "the connection is {end:?}, not closed");
        Ok(())
    }

    /// The connection must still serve: proves it with a request whose answer cannot be mistaken for another.
    pub fn usable(&mut self) -> Outcome {
        const PROBE: &str = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 15\r\n\r\nstill-in-order?";
        let answer = self.ask(PROBE)?;
        let echoed = answer.status == 200 && answer.body == b"still-in-order?";
        ensure!(echoed, "the next request on the connection got {}", shown(&answer.raw));
        Ok(())
    }

    fn buffered(&mut self, to_head: bool) -> Outcome<Option<Response>> {
        let response = Response::parse(&self.unread, to_head)?;
        if let Some(response) = &response {
            self.unread.drain(..response.raw.len());
        }
        Ok(response)
    }

    /// Reads once. `None` when bytes came.
    fn fill(&mut self, patience: Duration) -> Outcome<Option<End>> {
        let mut chunk = [0; 16 * 1024];
        self.stream.set_read_timeout(Some(patience))?;
        match self.stream.read(&mut chunk) {
            Ok(0) => Ok(Some(End::Closed)),
            Ok(len) => {
                self.unread.extend_from_slice(&chunk[..len]);
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Some(End::Silent)),
            Err(error) if is_closed(&error) => Ok(Some(End::Reset)),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_closed(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
