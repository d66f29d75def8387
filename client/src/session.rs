//! One connection's half of HTTP: bytes in, answers out. No I/O, no clock.
//!
//! Requests are rendered once for the whole run, so all that a session keeps of them is how many are outstanding.
//! Responses are read in place; only a head that is torn at the end of the bytes is copied and completed later.

use ringshot_http1::{Body, Decoder, Limits, Method, NoFields, Parse, Resume};

/// A response that has arrived in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The final status.
    pub status: u16,
    /// Length of the decoded body.
    pub body_bytes: u64,
    /// Interim responses (1xx) that came before it.
    pub interim: u16,
}

/// What the connection is good for after the bytes given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    Read,
    /// This connection carries nothing more.
    Close(Why),
}

/// Why a connection carries nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A response said so, or was ended by the close, or one request per connection was asked for. Requests that are
    /// still outstanding will not be served (RFC 9112 section 9.6).
    Announced,
    /// Bytes came that no request had asked for (RFC 9112 section 9.2: never to be taken for a response).
    Unsolicited,
    /// What came was no response; the name says what was wrong with it.
    Protocol(&'static str),
    /// The peer closed its side.
    Eof(Phase),
}

/// Where in a response the peer's close fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Between two requests.
    Idle,
    /// A request was out, and no byte of its response had come.
    Before,
    /// In the head.
    Head,
    /// In the body.
    Body,
}

#[derive(Clone, Copy)]
enum State {
    Head,
    Body { status: u16, decoder: Decoder, keep_alive: bool, len_bytes: u64 },
    Over,
}

/// See the module.
pub struct Session {
    method: Method,
    limits: Limits,
    /// One request per connection.
    once: bool,
    state: State,
    /// Start of a head whose end has not come.
    carry: Vec<u8>,
    resume: Resume,
    outstanding: u32,
    interim: u16,
    /// Whether a stray CRLF has been let pass since the last request.
    strayed: bool,
}

impl Session {
    /// A session for requests of this method. `once`: the connection ends with the first response.
    #[must_use]
    pub fn new(method: Method, limits: Limits, once: bool) -> Self {
        Self {
            method,
            limits,
            once,
            state: State::Head,
            carry: Vec::new(),
            resume: Resume::default(),
            outstanding: 0,
            interim: 0,
            strayed: false,
        }
    }

    /// Begins anew on a new connection, with the memory of the old one.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.carry.clear();
        self.resume = Resume::default();
        self.outstanding = 0;
        self.interim = 0;
        self.strayed = false;
    }

    /// `n` more requests have been written.
    pub fn requested(&mut self, n: u32) {
        self.outstanding += n;
        self.strayed = false;
    }

    /// Requests without a complete response.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Whether some of a response has come, and not all of it.
    #[must_use]
    pub fn is_mid_response(&self) -> bool {
        self.outstanding > 0 && (!self.carry.is_empty() || self.interim > 0 || matches!(self.state, State::Body { .. }))
    }

    /// Reads what came. Complete responses are appended to `answers` in the order of their requests.
    ///
    /// All of `input` is taken. After [`Next::Close`] further input is ignored.
    pub fn advance(&mut self, input: &[u8], answers: &mut Vec<Answer>) -> Next {
        if self.carry.is_empty() {
            return match self.consume(input, answers) {
                Ok(used) => {
                    self.carry.extend_from_slice(&input[used..]);
                    Next::Read
                }
                Err(why) => self.over(why),
            };
        }
        let mut carry = std::mem::take(&mut self.carry);
        carry.extend_from_slice(input);
        let result = self.consume(&carry, answers);
        let used = result.unwrap_or(carry.len());
        carry.drain(..used);
        self.carry = carry;
        result.map_or_else(|why| self.over(why), |_| Next::Read)
    }

    /// The peer closed its side: a response that only ends with that is complete now.
    pub fn end_of_input(&mut self, answers: &mut Vec<Answer>) -> Next {
        let phase = match &mut self.state {
            _ if self.outstanding == 0 => Phase::Idle,
            State::Over => return Next::Close(Why::Announced),
            State::Head if self.carry.is_empty() && self.interim == 0 => Phase::Before,
            State::Head => Phase::Head,
            State::Body { decoder, .. } => {
                if decoder.eof().is_ok() {
                    self.answer(answers);
                    return self.over(Why::Announced);
                }
                Phase::Body
            }
        };
        self.over(Why::Eof(phase))
    }

    fn over(&mut self, why: Why) -> Next {
        self.state = State::Over;
        Next::Close(why)
    }

    /// Returns how many bytes of `buf` are done with; the rest is the start of a head.
    fn consume(&mut self, buf: &[u8], answers: &mut Vec<Answer>) -> Result<usize, Why> {
        let mut at = 0;
        while at < buf.len() {
            let rest = &buf[at..];
            match self.state {
                State::Over => return Ok(buf.len()),
                State::Head if self.outstanding == 0 => return self.stray(rest).map(|used| at + used),
                State::Head => match self.head(rest)? {
                    0 => break,
                    used => at += used,
                },
                State::Body { .. } => at += self.body(rest)?,
            }
            self.finish_message(answers)?;
        }
        Ok(at)
    }

    /// Bytes while nothing is asked for: one CRLF after a body is an old fault that harms nobody, anything else ends it.
    fn stray(&mut self, rest: &[u8]) -> Result<usize, Why> {
        match rest {
            b"\r\n" if !self.strayed => {
                self.strayed = true;
                Ok(2)
            }
            b"\r" if !self.strayed => Ok(0),
            _ => Err(Why::Unsolicited),
        }
    }

    /// Reads a head. Returns its length, or 0 while it is not complete.
    fn head(&mut self, buf: &[u8]) -> Result<usize, Why> {
        let parsed = ringshot_http1::response(buf, &mut self.resume, &self.limits, self.method, &mut NoFields);
        let head = match parsed.map_err(|error| Why::Protocol(error.kind.name()))? {
            Parse::Done(head) => head,
            Parse::More => return Ok(0),
        };
        self.resume = Resume::default();
        if head.is_interim() {
            self.interim += 1;
            if u32::from(self.interim) > u32::from(self.limits.interim) {
                return Err(Why::Protocol("too-many-interim"));
            }
            return Ok(head.len as usize);
        }
        if head.status == 101 || matches!(head.body, Body::Tunnel) {
            return Err(Why::Protocol("unrequested-upgrade"));
        }
        self.state = State::Body {
            status: head.status,
            decoder: Decoder::new(head.body, &self.limits),
            keep_alive: head.keep_alive() && !self.once,
            len_bytes: 0,
        };
        Ok(head.len as usize)
    }

    /// Reads body bytes. Returns how many, which is all of them unless the body ends before.
    fn body(&mut self, buf: &[u8]) -> Result<usize, Why> {
        let State::Body { decoder, len_bytes, .. } = &mut self.state else { return Ok(0) };
        let mut at = 0;
        while at < buf.len() && !decoder.is_done() {
            let step = decoder.step(&buf[at..]).map_err(|error| Why::Protocol(error.kind.name()))?;
            *len_bytes += step.data.len() as u64;
            at += step.consumed;
            if step.consumed == 0 {
                break;
            }
        }
        Ok(at)
    }

    /// Hands out the response whose body is complete, if one is.
    fn finish_message(&mut self, answers: &mut Vec<Answer>) -> Result<(), Why> {
        match self.state {
            State::Body { decoder, keep_alive, .. } if decoder.is_done() => {
                self.answer(answers);
                if keep_alive { Ok(()) } else { Err(Why::Announced) }
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, answers: &mut Vec<Answer>) {
        if let State::Body { status, len_bytes, .. } = self.state {
            answers.push(Answer { status, body_bytes: len_bytes, interim: self.interim });
        }
        self.outstanding -= 1;
        self.interim = 0;
        self.state = State::Head;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` cut at `cuts`, then the end of input if asked for. Returns the answers and where it ended.
    fn read(method: Method, outstanding: u32, input: &[u8], cuts: &[usize], eof: bool) -> (Vec<(u16, u64)>, Next) {
        let mut session = Session::new(method, Limits::DEFAULT, false);
        session.requested(outstanding);
        let (mut answers, mut next, mut from) = (Vec::new(), Next::Read, 0);
        for to in cuts.iter().copied().chain([input.len()]) {
            if next == Next::Read {
                next = session.advance(&input[from..to], &mut answers);
            }
            from = to;
        }
        if eof && next == Next::Read {
            next = session.end_of_input(&mut answers);
        }
        assert_eq!(session.outstanding() as usize + answers.len(), outstanding as usize, "none lost, none invented");
        (answers.iter().map(|answer| (answer.status, answer.body_bytes)).collect(), next)
    }

    /// The same whole, at every two-way cut, and byte by byte.
    fn check(method: Method, outstanding: u32, input: &[u8], eof: bool, answers: &[(u16, u64)], next: Next) {
        let singles: Vec<usize> = (1..input.len()).collect();
        let cuts = (0..=input.len()).map(|at| vec![at]).chain([Vec::new(), singles]);
        for cuts in cuts {
            let got = read(method, outstanding, input, &cuts, eof);
            assert_eq!(got, (answers.to_vec(), next), "{:?} cut at {cuts:?}", String::from_utf8_lossy(input));
        }
    }

    const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &str =
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n";
    const EMPTY: &str = "HTTP/1.1 204 No Content\r\n\r\n";
    const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n";
    const CLOSING: &str = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nall of it";

    #[test]
    fn pipelined_responses_of_every_framing_at_every_cut() {
        let parts = [LENGTH, CHUNKED, EMPTY, LENGTH];
        let answers = [(200, 5), (201, 13), (204, 0), (200, 5)];
        check(Method::Get, 4, parts.concat().as_bytes(), false, &answers, Next::Read);
        let with_interim = [INTERIM, LENGTH, INTERIM, INTERIM, CHUNKED].concat();
        check(Method::Get, 2, with_interim.as_bytes(), false, &answers[..2], Next::Read);
        let idle = Next::Close(Why::Eof(Phase::Idle));
        check(Method::Get, 4, parts.concat().as_bytes(), true, &answers, idle);
    }

    #[test]
    fn the_last_response_of_a_connection() {
        let announced = Next::Close(Why::Announced);
        check(Method::Get, 2, [LENGTH, CLOSING].concat().as_bytes(), false, &[(200, 5), (404, 2)], announced);
        check(Method::Get, 3, [LENGTH, CLOSING, LENGTH].concat().as_bytes(), false, &[(200, 5), (404, 2)], announced);
        check(Method::Get, 2, [LENGTH, UNTIL_CLOSE].concat().as_bytes(), true, &[(200, 5), (200, 9)], announced);
        check(Method::Get, 3, [LENGTH, UNTIL_CLOSE].concat().as_bytes(), true, &[(200, 5), (200, 9)], announced);
    }

    #[test]
    fn a_head_response_ends_with_its_head() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".repeat(2);
        check(Method::Head, 2, head.as_bytes(), false, &[(200, 0), (200, 0)], Next::Read);
    }

    #[test]
    fn an_end_of_input_in_each_phase() {
        for at in 0..LENGTH.len() {
            let body = LENGTH.len() - 5;
            let phase = if at == 0 {
                Phase::Before
            } else if at < body {
                Phase::Head
            } else {
                Phase::Body
            };
            let got = read(Method::Get, 1, &LENGTH.as_bytes()[..at], &[], true);
            assert_eq!(got, (Vec::new(), Next::Close(Why::Eof(phase))), "at {at}");
        }
        let interim = read(Method::Get, 1, INTERIM.as_bytes(), &[], true);
        assert_eq!(interim.1, Next::Close(Why::Eof(Phase::Head)));
    }

    #[test]
    fn bytes_that_no_request_asked_for() {
        let unsolicited = Next::Close(Why::Unsolicited);
        for surplus in ["x", "\n", "\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", LENGTH] {
            check(Method::Get, 1, [LENGTH, surplus].concat().as_bytes(), false, &[(200, 5)], unsolicited);
        }
        check(Method::Get, 1, [LENGTH, "\r\n"].concat().as_bytes(), false, &[(200, 5)], Next::Read);
        check(Method::Get, 0, CLOSING.as_bytes(), false, &[], unsolicited);
    }

    #[test]
    fn what_is_no_response() {
        let upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nRAW";
        let upgrade_error = Next::Close(Why::Protocol("unrequested-upgrade"));
        check(Method::Get, 1, upgrade.as_bytes(), false, &[], upgrade_error);
        let most = usize::from(Limits::DEFAULT.interim);
        let flood = Next::Close(Why::Protocol("too-many-interim"));
        check(Method::Get, 1, INTERIM.repeat(most + 1).as_bytes(), false, &[], flood);
        let just = [&INTERIM.repeat(most), LENGTH].concat();
        check(Method::Get, 1, just.as_bytes(), false, &[(200, 5)], Next::Read);
    }

    #[test]
    fn one_request_per_connection_ends_with_its_response() {
        let mut session = Session::new(Method::Get, Limits::DEFAULT, true);
        session.requested(1);
        let mut answers = Vec::new();
        assert_eq!(session.advance(LENGTH.as_bytes(), &mut answers), Next::Close(Why::Announced));
        session.reset();
        session.requested(1);
        assert_eq!(session.advance(LENGTH.as_bytes(), &mut answers), Next::Close(Why::Announced));
        assert_eq!(answers.len(), 2);
    }
}
