//! Requests with a body: what is told to a client that waits, and how the body is taken.

use std::sync::Arc;

use ringshot_http1::encode::{self, Persist, Prepared};
use ringshot_http1::{Decoder, Error, Method, RequestHead, Version};

use super::{Context, Session, State, persist};
use crate::app::Answer;

/// Memory for a collected body that a session keeps from one request to the next.
const KEEP_BODY_BYTES: usize = 64 * 1024;

/// A request whose body is still arriving.
pub(super) struct Exchange {
    decoder: Decoder,
    /// `None` echoes the body.
    fixed: Option<Arc<Prepared>>,
    pub(super) method: Method,
    version: Version,
    keep_alive: bool,
}

impl Session {
    /// Decides what becomes of an announced body before its first byte is looked at.
    ///
    /// A client that waits for 100 (Continue) is told at once: to go on, or the final status, after which the connection
    /// closes because nobody can know whether the body still follows (RFC 9110 section 10.1.1). Once the body has begun
    /// there is nothing to tell. A 1.0 client is never sent a 1xx.
    pub(super) fn open_body(
        &mut self,
        ctx: &mut Context<'_>,
        head: &RequestHead,
        answer: Answer<'_>,
        waits: bool,
        out: &mut Vec<u8>,
    ) {
        let expects = head.expects_continue() && head.version == Version::Http11;
        let fixed = match answer {
            Answer::Fixed(prepared) => Some(prepared),
            Answer::Echo => None,
        };
        if expects && fixed.is_some_and(|prepared| prepared.status() >= 400) {
            self.respond(ctx, answer, head.method, Persist::Close, b"", out);
            return;
        }
        if expects && waits {
            out.extend_from_slice(encode::CONTINUE);
            ctx.tally.responses.add(100);
        }
        self.state = State::Body(Exchange {
            decoder: Decoder::new(head.body, ctx.app.limits()),
            fixed: fixed.cloned(),
            method: head.method,
            version: head.version,
            keep_alive: head.keep_alive(),
        });
    }

    /// Takes body bytes up to the end of the body or of `rest`. A body that is not echoed is drained without a copy; one
    /// that arrived in one piece is echoed from where it lies.
    pub(super) fn take_body(&mut self, ctx: &mut Context<'_>, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Error> {
        let State::Body(exchange) = &mut self.state else { return Ok(0) };
        let mut used = 0;
        while used < rest.len() {
            let piece = &rest[used..];
            let step = exchange.decoder.step(piece)?;
            used += step.consumed;
            let data = &piece[step.data];
            if step.done {
                self.answer_body(ctx, data, rest.len() == used, out);
                return Ok(used);
            }
            if exchange.fixed.is_none() {
                self.body.extend_from_slice(data);
            }
            if step.consumed == 0 {
                break;
            }
        }
        Ok(used)
    }

    /// Answers the request whose body ends with `last_data`.
    fn answer_body(&mut self, ctx: &mut Context<'_>, last_data: &[u8], nothing_behind: bool, out: &mut Vec<u8>) {
        let State::Body(exchange) = std::mem::replace(&mut self.state, State::Head) else { return };
        let last = nothing_behind && (ctx.draining || self.ended);
        let persist = persist(exchange.version, exchange.keep_alive && !last);
        match &exchange.fixed {
            Some(prepared) => self.respond(ctx, Answer::Fixed(prepared), exchange.method, persist, b"", out),
            None if self.body.is_empty() => self.respond(ctx, Answer::Echo, exchange.method, persist, last_data, out),
            None => {
                let mut body = std::mem::take(&mut self.body);
                body.extend_from_slice(last_data);
                self.respond(ctx, Answer::Echo, exchange.method, persist, &body, out);
                self.body = body;
                self.forget_body();
            }
        }
    }

    pub(super) fn forget_body(&mut self) {
        self.body.clear();
        self.body.shrink_to(KEEP_BODY_BYTES);
    }
}
