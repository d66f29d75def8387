//! One connection's protocol: bytes in, responses out. No I/O, no clock.
//!
//! [`Session::advance`] takes all the input there is. A request that lies whole in one buffer is parsed in place; only a torn
//! tail is copied to the carry buffer. The answers to pipelined requests go to one output, in order, for one send. A request
//! that the codec refuses is answered once, and nothing after it is looked at.

use ringshot_http1::encode::{self, Persist};
use ringshot_http1::{Body, Error, Method, NoFields, Parse, Resume, Version};

use crate::app::{Answer, App, ECHO_FIELDS};
use crate::carry::Carry;
use crate::date::DATE_LEN_BYTES;
use crate::tally::Tally;

mod body;
#[cfg(test)]
mod tests;

use body::Exchange;

/// Output after which the session stops answering until it has been sent. One answer may reach beyond it, so the most that
/// an output holds is this and the largest response.
pub const PIPELINE_OUT_BYTES: usize = 256 * 1024;

/// Input that is kept for later while output is blocked. An engine stops receiving then, so this is only reached when more
/// was already on its way; at the bound the connection is closed.
pub const BLOCKED_INPUT_BYTES: usize = 1024 * 1024;

/// What the session needs from the worker; the same for all connections of a batch.
pub struct Context<'a> {
    /// Routes and limits.
    pub app: &'a App,
    /// The Date of now.
    pub date: &'a [u8; DATE_LEN_BYTES],
    /// Where to count.
    pub tally: &'a mut Tally,
    /// The server is stopping: the last answer to what has arrived says `Connection: close`. Requests that were pipelined
    /// behind it and are already here are still answered.
    pub draining: bool,
}

/// What the engine is to do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send what is in the output, and bring more input.
    Read,
    /// The output has reached its bound: send it, then call [`Session::advance`] with no input.
    Blocked,
    /// Send what is in the output, then close in stages. The session ignores further input.
    Close,
}

/// Which deadline applies while the engine waits for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Connected, and no byte has come.
    Fresh,
    /// Between two requests.
    Idle,
    /// In the middle of a request head.
    Head,
    /// In the middle of a request body.
    Body,
}

enum State {
    Head,
    Body(Exchange),
    Closed,
}

/// The protocol state of one connection. Its buffers start empty and are kept when the session is reset.
pub struct Session {
    state: State,
    resume: Resume,
    carry: Carry,
    body: Vec<u8>,
    /// Requests answered on this connection.
    answered: u32,
    /// The peer has shut down its side; what it sent before is still answered.
    ended: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session for a new connection. Takes no memory until something is torn or collected.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Head,
            resume: Resume::default(),
            carry: Carry::default(),
            body: Vec::new(),
            answered: 0,
            ended: false,
        }
    }

    /// Makes the session new again and keeps its memory, within bounds.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.resume = Resume::default();
        self.carry.clear();
        self.forget_body();
        self.answered = 0;
        self.ended = false;
    }

    /// Takes all of `input` and appends the answers to `out`.
    pub fn advance(&mut self, ctx: &mut Context<'_>, input: &[u8], out: &mut Vec<u8>) -> Next {
        let next = if self.carry.is_empty() {
            let (used, next) = self.consume(ctx, input, out);
            self.keep(ctx, &input[used..], next)
        } else {
            let mut carry = std::mem::take(&mut self.carry);
            carry.push(input);
            let (used, next) = self.consume(ctx, carry.bytes(), out);
            carry.consume(used);
            self.carry = carry;
            self.keep(ctx, b"", next)
        };
        match next {
            Next::Read if self.ended => self.finish(ctx, out),
            next => next,
        }
    }

    /// The peer has shut down its side. What it sent before is answered, then the connection closes.
    pub fn end_of_input(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> Next {
        self.ended = true;
        self.advance(ctx, b"", out)
    }

    /// The deadline of [`phase`](Self::phase) has passed: 408 in the middle of a request, nothing otherwise.
    pub fn expire(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> Next {
        if matches!(self.state, State::Closed) {
            return Next::Close;
        }
        let errors = &mut ctx.tally.errors;
        match self.phase() {
            Phase::Fresh => errors.first_byte_timeout += 1,
            Phase::Idle => errors.idle_timeout += 1,
            Phase::Head => errors.head_timeout += 1,
            Phase::Body => errors.body_timeout += 1,
        }
        match self.phase() {
            Phase::Fresh | Phase::Idle => self.close(),
            Phase::Head | Phase::Body => self.refuse(ctx, 408, self.method(), out),
        }
    }

    /// What the session is waiting for.
    #[must_use]
    #[inline]
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Body(_) => Phase::Body,
            _ if self.has_begun() => Phase::Head,
            _ if self.answered > 0 => Phase::Idle,
            _ => Phase::Fresh,
        }
    }

    /// Requests answered so far. Together with [`phase`](Self::phase) it tells one head from the next.
    #[must_use]
    #[inline]
    pub fn answered(&self) -> u32 {
        self.answered
    }

    /// Input that is kept for later.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.carry.bytes().len()
    }

    /// Whether a request head has begun to arrive. Empty lines between requests are not one (RFC 9112 section 2.2).
    fn has_begun(&self) -> bool {
        self.carry.bytes().iter().any(|byte| !matches!(byte, b'\r' | b'\n'))
    }

    fn method(&self) -> Method {
        match &self.state {
            State::Body(exchange) => exchange.method,
            _ => Method::Other,
        }
    }

    /// Parses and answers until the input is used up, torn, refused or blocked. Returns how much of it was used.
    fn consume(&mut self, ctx: &mut Context<'_>, input: &[u8], out: &mut Vec<u8>) -> (usize, Next) {
        let mut used = 0;
        let first = self.answered;
        loop {
            let rest = &input[used..];
            match self.state {
                State::Closed => return (input.len(), Next::Close),
                _ if rest.is_empty() => return (used, Next::Read),
                State::Head if self.is_blocked(ctx, first, out) => return (used, Next::Blocked),
                _ => {}
            }
            let taken = match self.state {
                State::Body(_) => self.take_body(ctx, rest, out),
                _ => self.take_head(ctx, rest, out),
            };
            match taken {
                Ok(0) => return (used, Next::Read),
                Ok(len_bytes) => used += len_bytes,
                Err(error) => {
                    ctx.tally.errors.protocol += 1;
                    let method = if rest.starts_with(b"HEAD ") { Method::Head } else { self.method() };
                    self.refuse(ctx, error.kind.status(), method, out);
                }
            }
        }
    }

    fn is_blocked(&self, ctx: &Context<'_>, first: u32, out: &[u8]) -> bool {
        out.len() >= PIPELINE_OUT_BYTES || self.answered.wrapping_sub(first) >= ctx.app.max_pipeline()
    }

    /// Takes one head, and answers it when it has no body. Returns 0 when it is torn.
    fn take_head(&mut self, ctx: &mut Context<'_>, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Error> {
        let head = match ringshot_http1::request(rest, &mut self.resume, ctx.app.limits(), &mut NoFields)? {
            Parse::Done(head) => head,
            Parse::More => return Ok(0),
        };
        self.resume = Resume::default();
        ctx.tally.requests += 1;
        let len_bytes = head.len as usize;
        let behind = &rest[len_bytes..];
        if head.method == Method::Connect {
            // No tunnel is ever opened, and what follows may already be meant for one.
            self.refuse(ctx, 501, head.method, out);
            return Ok(len_bytes);
        }
        let answer = ctx.app.answer(&head, head.path.of(rest));
        match head.body {
            Body::Length(0) | Body::None => {
                let last = behind.is_empty() && (ctx.draining || self.ended);
                let persist = persist(head.version, head.keep_alive() && !last);
                self.respond(ctx, answer, head.method, persist, b"", out);
            }
            _ => self.open_body(ctx, &head, answer, behind.is_empty(), out),
        }
        Ok(len_bytes)
    }

    /// Writes one final answer and moves on: to the next head, or to the end.
    #[inline]
    fn respond(
        &mut self,
        ctx: &mut Context<'_>,
        answer: Answer<'_>,
        method: Method,
        persist: Persist,
        body: &[u8],
        out: &mut Vec<u8>,
    ) {
        let closes = matches!(persist, Persist::Close);
        let with_body = method != Method::Head;
        let status = match answer {
            Answer::Fixed(prepared) => {
                prepared.write(out, persist, with_body, ctx.date);
                prepared.status()
            }
            Answer::Echo => {
                let written = encode::response(out, 200, &ECHO_FIELDS, body, with_body, persist, ctx.date);
                debug_assert!(written.is_ok(), "constant fields are writable");
                200
            }
        };
        ctx.tally.responses.add(status);
        self.answered = self.answered.wrapping_add(1);
        self.state = if closes { State::Closed } else { State::Head };
    }

    /// Answers with an error that belongs to no route, and closes.
    fn refuse(&mut self, ctx: &mut Context<'_>, status: u16, method: Method, out: &mut Vec<u8>) -> Next {
        let app = ctx.app;
        self.respond(ctx, Answer::Fixed(app.refusal(status)), method, Persist::Close, b"", out);
        self.close()
    }

    /// The input is over: a request that is not complete will never be.
    fn finish(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> Next {
        match self.phase() {
            Phase::Fresh | Phase::Idle => self.close(),
            Phase::Head | Phase::Body => {
                ctx.tally.errors.torn += 1;
                self.refuse(ctx, 400, self.method(), out)
            }
        }
    }

    fn close(&mut self) -> Next {
        self.state = State::Closed;
        self.carry.clear();
        self.forget_body();
        Next::Close
    }

    /// Keeps input for later, within the bound. A torn head needs none of its own: the codec refuses one that is too long.
    fn keep(&mut self, ctx: &mut Context<'_>, rest: &[u8], next: Next) -> Next {
        match next {
            Next::Close => return self.close(),
            Next::Read | Next::Blocked if rest.is_empty() => {}
            Next::Read | Next::Blocked => self.carry.push(rest),
        }
        if next == Next::Blocked && self.waiting_bytes() > BLOCKED_INPUT_BYTES {
            ctx.tally.errors.overrun += 1;
            return self.close();
        }
        next
    }
}

#[inline]
fn persist(version: Version, keep_alive: bool) -> Persist {
    match (keep_alive, version) {
        (false, _) => Persist::Close,
        (true, Version::Http10) => Persist::KeepAlive10,
        (true, Version::Http11) => Persist::KeepAlive11,
    }
}
