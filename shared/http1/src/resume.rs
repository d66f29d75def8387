//! Heads that arrive in pieces.
//!
//! A head is parsed in one pass that keeps no state inside of a token, so there is no such state to get wrong. When
//! the bytes run out, [`Resume`] watches the ones that come later: an automaton of one octet per step, which knows
//! nothing but the grammar of lines. It tells when the head is complete, or cannot become one any more, and only
//! then the head is parsed once more from its start. So every octet is looked at three times at most, however the
//! peer cuts them, and what is reported doesn't depend on the cuts.

use crate::Parse;
use crate::error::{Error, Stop};
use crate::limits::Limits;
use crate::scan::Scan;
use crate::scan::table::{is_target, is_token, is_value};
use crate::view::View;
use crate::work;

/// What is known about a head of which only the first part has arrived. Fresh by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Octets that were watched, below 2^24, and the state after them in the low eight bits.
    watched: u32,
    /// In a start line: where the present part of it begins. In the fields: the number of lines that have begun.
    mark: u32,
}

impl Resume {
    /// Whether no byte of a head has been seen.
    pub const fn is_fresh(&self) -> bool {
        self.watched == 0
    }
}

/// Where in a line the watched bytes end. `Version`, `Status` and `Reason` are those of their kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Start,
    EmptyLf,
    Method,
    Target,
    TargetCr,
    Version,
    OtherVersion,
    LineCr,
    Status,
    Reason,
    LineLf,
    FieldStart,
    Name,
    NameSpace,
    Value,
    ValueLf,
    EndLf,
}

impl State {
    const ALL: [Self; 17] = [
        Self::Start,
        Self::EmptyLf,
        Self::Method,
        Self::Target,
        Self::TargetCr,
        Self::Version,
        Self::OtherVersion,
        Self::LineCr,
        Self::Status,
        Self::Reason,
        Self::LineLf,
        Self::FieldStart,
        Self::Name,
        Self::NameSpace,
        Self::Value,
        Self::ValueLf,
        Self::EndLf,
    ];
}

/// Runs `parse` on the first attempt and when the watched bytes call for it.
#[inline(always)]
pub(crate) fn parse<S: Scan, T, const RESPONSE: bool>(
    scan: S,
    view: View<'_>,
    resume: &mut Resume,
    limits: &Limits,
    parse: impl FnOnce(S) -> Result<T, Stop>,
) -> Result<Parse<T>, Error> {
    if !resume.is_fresh() && view.len() < limits.head_len() && watch::<S, RESPONSE>(scan, view, resume, limits) {
        return Ok(Parse::More);
    }
    work::examine(view.len());
    match parse(scan) {
        Ok(head) => {
            *resume = Resume::default();
            Ok(Parse::Done(head))
        }
        Err(Stop::Bad(error)) => {
            *resume = Resume::default();
            Err(error)
        }
        Err(Stop::More) => {
            view.out_of_bytes(limits.head_len())?;
            let open = resume.is_fresh() && watch::<S, RESPONSE>(scan, view, resume, limits);
            debug_assert!(open || view.len() == 0, "the watch stopped where the parser did not");
            Ok(Parse::More)
        }
    }
}

/// Watches the bytes that are new; whether more are needed.
#[cold]
#[inline(never)]
fn watch<S: Scan, const RESPONSE: bool>(scan: S, view: View<'_>, resume: &mut Resume, limits: &Limits) -> bool {
    let bytes = view.bytes();
    let mut at = (resume.watched >> 8) as usize;
    let mut state = State::ALL[(resume.watched & 0xFF) as usize];
    work::examine(bytes.len().saturating_sub(at));
    while at < bytes.len() {
        if state == State::Value {
            // The long part of a head, so it is worth the vector search.
            at = view.control(scan, at).unwrap_or(bytes.len());
            if at == bytes.len() {
                break;
            }
        }
        let watcher = Watcher::<RESPONSE> { limits, at };
        match watcher.step(state, bytes[at], &mut resume.mark) {
            Some(next) => state = next,
            None => return false,
        }
        at += 1;
    }
    resume.watched = (at as u32) << 8 | state as u32;
    true
}

/// One step of the automaton. `None`: the parser finds an end or a mistake at this octet.
struct Watcher<'a, const RESPONSE: bool> {
    limits: &'a Limits,
    at: usize,
}

impl<const RESPONSE: bool> Watcher<'_, RESPONSE> {
    fn step(&self, state: State, octet: u8, mark: &mut u32) -> Option<State> {
        match state {
            State::Start => self.start(octet, mark),
            State::EmptyLf => then(octet == b'\n', State::Start),
            State::Method => self.method(octet, mark),
            State::Target => self.target(octet, mark),
            State::TargetCr | State::EndLf => None,
            State::Version | State::OtherVersion => self.version(state, octet, *mark),
            State::LineCr => then(octet == b'\r', State::LineLf),
            State::Status => self.status(octet, *mark),
            State::Reason if octet == b'\r' => Some(State::LineLf),
            State::Reason => then(is_value(octet), State::Reason),
            State::LineLf => {
                *mark = 0;
                then(octet == b'\n', State::FieldStart)
            }
            State::FieldStart => self.field_start(octet, mark),
            State::Name => name(octet),
            State::NameSpace => then(matches!(octet, b' ' | b'\t'), State::NameSpace),
            State::Value if octet == b'\r' => Some(State::ValueLf),
            State::Value => then(is_value(octet), State::Value),
            State::ValueLf => then(octet == b'\n', State::FieldStart),
        }
    }

    /// Octets since the present part of the start line began.
    fn since(&self, mark: u32) -> usize {
        self.at - mark as usize
    }

    fn start(&self, octet: u8, mark: &mut u32) -> Option<State> {
        if octet == b'\r' {
            return then(self.at / 2 < usize::from(self.limits.empty_lines), State::EmptyLf);
        }
        *mark = self.at as u32;
        if RESPONSE { self.version(State::Version, octet, *mark) } else { self.method(octet, mark) }
    }

    fn method(&self, octet: u8, mark: &mut u32) -> Option<State> {
        if octet == b' ' && self.since(*mark) > 0 {
            *mark = self.at as u32 + 1;
            return Some(State::Target);
        }
        then(is_token(octet) && self.since(*mark) < self.limits.method_len(), State::Method)
    }

    fn target(&self, octet: u8, mark: &mut u32) -> Option<State> {
        let len = self.since(*mark);
        match octet {
            b' ' if len > 0 => {
                *mark = self.at as u32 + 1;
                Some(State::Version)
            }
            // The parser wants to see what follows: a line without version is told from an octet out of place.
            b'\r' if len > 0 => Some(State::TargetCr),
            _ => then(is_target(octet) && len < self.limits.target as usize, State::Target),
        }
    }

    fn version(&self, state: State, octet: u8, mark: u32) -> Option<State> {
        let index = self.since(mark);
        let fits = match b"HTTP/d.d"[index] {
            b'd' => octet.is_ascii_digit(),
            expected => octet == expected,
        };
        match index {
            5 if octet != b'1' => then(fits, State::OtherVersion),
            // The parser refuses another major number here, once all of it stands.
            7 if state == State::OtherVersion => None,
            7 => then(fits, if RESPONSE { State::Status } else { State::LineCr }),
            _ => then(fits, state),
        }
    }

    fn status(&self, octet: u8, mark: u32) -> Option<State> {
        match self.since(mark) {
            8 => then(octet == b' ', State::Status),
            9 => then(matches!(octet, b'1'..=b'9'), State::Status),
            10 | 11 => then(octet.is_ascii_digit(), State::Status),
            _ if octet == b'\r' => Some(State::LineLf),
            _ => then(octet == b' ', State::Reason),
        }
    }

    fn field_start(&self, octet: u8, mark: &mut u32) -> Option<State> {
        match octet {
            b'\r' => Some(State::EndLf),
            b' ' | b'\t' if RESPONSE && *mark > 0 => Some(State::Value),
            _ => {
                let room = *mark < u32::from(self.limits.fields);
                *mark += 1;
                then(room && is_token(octet), State::Name)
            }
        }
    }
}

fn name(octet: u8) -> Option<State> {
    match octet {
        b':' => Some(State::Value),
        b' ' | b'\t' => Some(State::NameSpace),
        _ => then(is_token(octet), State::Name),
    }
}

fn then(fits: bool, state: State) -> Option<State> {
    fits.then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, NoFields, request, response};

    #[test]
    fn it_takes_eight_octets() {
        assert_eq!(size_of::<Resume>(), 8);
    }

    /// Feeds a head in pieces of `cut` octets. The last result, and how many octets were received by then.
    fn feed<T>(
        input: &[u8],
        cut: usize,
        mut parse: impl FnMut(&[u8]) -> Result<Parse<T>, Error>,
    ) -> (Result<Parse<T>, Error>, usize) {
        let mut received = 0;
        loop {
            received = input.len().min(received + cut);
            let result = parse(&input[..received]);
            if received == input.len() || !matches!(result, Ok(Parse::More)) {
                return (result, received);
            }
        }
    }

    #[test]
    fn no_octet_is_examined_more_than_three_times() {
        let fields = "Name: some value \u{e9}\t;\r\n".repeat(60);
        let long = format!("X: {}\r\n", "v".repeat(30_000));
        for rest in [&fields, &long, "", "Bad name: x\r\n"] {
            let request_text = format!("\r\nGET /a?b HTTP/1.1\r\nHost: a\r\n{rest}\r\n");
            let response_text = format!("\r\nHTTP/1.1 200 OK\r\nServer: a\r\n{rest}\r\n");
            for cut in [1, 2, 3, 7, 16, 64, 100, 1_000, 20_000, request_text.len() - 1, request_text.len()] {
                work::take();
                let mut resume = Resume::default();
                let limits = &Limits::DEFAULT;
                let (_, received) =
                    feed(request_text.as_bytes(), cut, |bytes| request(bytes, &mut resume, limits, &mut NoFields));
                let examined = work::take();
                assert!(examined <= 3 * received, "request of {received} in {cut}: {examined}");
                let mut resume = Resume::default();
                let (_, received) = feed(response_text.as_bytes(), cut, |bytes| {
                    response(bytes, &mut resume, limits, Method::Get, &mut NoFields)
                });
                let examined = work::take();
                assert!(examined <= 3 * received, "response of {received} in {cut}: {examined}");
            }
        }
    }
}
