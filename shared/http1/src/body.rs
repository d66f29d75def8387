//! Message bodies: how they end, and the decoder that finds the end.

use crate::error::{Error, Kind};
use crate::limits::Limits;
use crate::scan::table::{is_token, is_value};
use core::ops::Range;

/// Where the body of a message ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// There is none.
    None,
    /// After this many octets.
    Length(u64),
    /// With the last chunk and the trailer section.
    Chunked,
    /// When the connection closes. Only responses have it.
    UntilClose,
    /// Never: what follows the head isn't HTTP any more. Only responses have it.
    Tunnel,
}

/// What one step of a [`Decoder`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Octets of the input that are dealt with.
    pub consumed: usize,
    /// Those of them that are body data, maybe none. They are the last ones consumed.
    pub data: Range<usize>,
    /// Whether the body is complete. What follows the consumed octets is the next message.
    pub done: bool,
}

/// Finds body data and the end of the body. It copies nothing and keeps no data.
///
/// ```
/// use ringshot_http1::{Body, Decoder, Limits};
/// let mut decoder = Decoder::new(Body::Chunked, &Limits::DEFAULT);
/// let mut rest = &b"5;note=x\r\nhello\r\n0\r\nSum: 1\r\n\r\nGET /"[..];
/// let mut body = Vec::new();
/// while !decoder.is_done() {
///     let step = decoder.step(rest).expect("well-formed");
///     body.extend_from_slice(&rest[step.data]);
///     rest = &rest[step.consumed..];
/// }
/// assert_eq!((&body[..], rest), (&b"hello"[..], &b"GET /"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    state: State,
    /// Octets of data to come in this chunk, or in the body.
    left: u64,
    /// Octets of data that the limit still allows beyond `left`.
    budget: u64,
    ext_left: u32,
    trailer_left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    Length,
    UntilClose,
    SizeStart,
    Size,
    SizeSpace,
    SizeLf,
    ExtStart,
    ExtName,
    ExtNameSpace,
    ExtValueStart,
    ExtValue,
    ExtValueSpace,
    ExtQuoted,
    ExtEscape,
    ExtQuotedEnd,
    ExtLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
}

impl Decoder {
    /// A decoder for a body that starts with the next octet. A tunnel is read like a body until close, without limit.
    pub const fn new(body: Body, limits: &Limits) -> Self {
        let (state, left, budget) = match body {
            Body::None | Body::Length(0) => (State::Done, 0, 0),
            Body::Length(length) => (State::Length, length, 0),
            Body::Chunked => (State::SizeStart, 0, limits.body),
            Body::UntilClose => (State::UntilClose, limits.body, 0),
            Body::Tunnel => (State::UntilClose, u64::MAX, 0),
        };
        Self { state, left, budget, ext_left: limits.chunk_ext, trailer_left: limits.trailer }
    }

    /// Whether the body is complete.
    #[inline]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Consumes up to one run of body data from the start of `buf`. Call it again on the rest until the body is done
    /// or the rest is empty. Octets after the body are never consumed.
    ///
    /// # Errors
    /// What is wrong, and its offset in this `buf`. The decoder stays where it is: give the connection up.
    #[inline]
    pub fn step(&mut self, buf: &[u8]) -> Result<Step, Error> {
        let mut at = 0;
        while at < buf.len() {
            match self.state {
                State::Done => break,
                State::Length | State::Data | State::UntilClose => return self.data(buf, at),
                state => self.state = self.framing(state, buf[at]).map_err(|kind| Error::new(kind, at))?,
            }
            at += 1;
        }
        Ok(Step { consumed: at, data: at..at, done: self.is_done() })
    }

    /// The peer sends no more.
    ///
    /// # Errors
    /// [`Kind::UnexpectedEof`] unless the body is complete or lasts until the connection closes, and now does.
    pub fn eof(&mut self) -> Result<(), Error> {
        match self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(Error::new(Kind::UnexpectedEof, 0)),
        }
    }

    #[inline]
    fn data(&mut self, buf: &[u8], at: usize) -> Result<Step, Error> {
        let available = (buf.len() - at) as u64;
        if self.state == State::UntilClose && available > self.left {
            return Err(Error::new(Kind::BodyTooLarge, at + self.left as usize));
        }
        let taken = available.min(self.left);
        self.left -= taken;
        if self.left == 0 {
            match self.state {
                State::Length => self.state = State::Done,
                State::Data => self.state = State::DataCr,
                _ => {}
            }
        }
        let end = at + taken as usize;
        Ok(Step { consumed: end, data: at..end, done: self.is_done() })
    }

    /// One octet that isn't data.
    fn framing(&mut self, state: State, octet: u8) -> Result<State, Kind> {
        match state {
            State::SizeStart | State::Size | State::SizeSpace | State::SizeLf => self.size(state, octet),
            State::DataCr if octet == b'\r' => Ok(State::DataLf),
            State::DataLf if octet == b'\n' => Ok(State::SizeStart),
            State::DataCr | State::DataLf => Err(Kind::BadChunkDataEnd),
            State::ExtLf if octet == b'\n' => Ok(self.chunk_start()),
            State::TrailerStart | State::TrailerName | State::TrailerValue | State::TrailerLf | State::EndLf => {
                self.trailer(state, octet)
            }
            _ => self.extension(state, octet),
        }
    }

    fn size(&mut self, state: State, octet: u8) -> Result<State, Kind> {
        if let Some(digit) = hex(octet)
            && matches!(state, State::SizeStart | State::Size)
        {
            return self.size_digit(state, digit);
        }
        match (state, octet) {
            (State::SizeLf, b'\n') => Ok(self.chunk_start()),
            (State::SizeLf, _) | (State::Size, b'\n') => Err(Kind::BadChunkLineEnd),
            (State::Size, b'\r') => self.sized(State::SizeLf),
            (State::Size, b';') => self.sized(State::ExtStart),
            (State::Size, b' ' | b'\t') => self.sized(State::SizeSpace),
            // Whitespace is allowed before an extension, but the size line doesn't end with it.
            (State::SizeSpace, b';') => self.charge_ext(State::ExtStart),
            (State::SizeSpace, b' ' | b'\t') => self.charge_ext(State::SizeSpace),
            _ => Err(Kind::BadChunkSize),
        }
    }

    fn size_digit(&mut self, state: State, digit: u64) -> Result<State, Kind> {
        if self.left >> 60 != 0 {
            return Err(Kind::ChunkSizeOverflow);
        }
        // Zeros in front carry nothing, so they count as overhead: without a bound they would never end.
        let idle = state == State::Size && self.left == 0;
        self.left = self.left << 4 | digit;
        if idle { self.charge_ext(State::Size) } else { Ok(State::Size) }
    }

    /// The size is complete: does the body stay within its limit?
    fn sized(&mut self, next: State) -> Result<State, Kind> {
        self.budget = self.budget.checked_sub(self.left).ok_or(Kind::BodyTooLarge)?;
        Ok(next)
    }

    fn chunk_start(&self) -> State {
        if self.left == 0 { State::TrailerStart } else { State::Data }
    }

    fn charge_ext(&mut self, next: State) -> Result<State, Kind> {
        self.ext_left = self.ext_left.checked_sub(1).ok_or(Kind::BadChunkExtension)?;
        Ok(next)
    }

    /// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`
    fn extension(&mut self, state: State, octet: u8) -> Result<State, Kind> {
        let next = match (state, octet) {
            (State::ExtStart | State::ExtValueStart, b' ' | b'\t') => state,
            (State::ExtValueStart, b'"') => State::ExtQuoted,
            (State::ExtStart | State::ExtName, _) if is_token(octet) => State::ExtName,
            (State::ExtValueStart | State::ExtValue, _) if is_token(octet) => State::ExtValue,
            (State::ExtName | State::ExtNameSpace, b'=') => State::ExtValueStart,
            (State::ExtName | State::ExtNameSpace, b' ' | b'\t') => State::ExtNameSpace,
            (State::ExtValue | State::ExtQuotedEnd | State::ExtValueSpace, b' ' | b'\t') => State::ExtValueSpace,
            (State::ExtQuoted, b'"') => State::ExtQuotedEnd,
            (State::ExtQuoted, b'\\') => State::ExtEscape,
            (State::ExtQuoted | State::ExtEscape, _) if is_value(octet) => State::ExtQuoted,
            (State::ExtName | State::ExtValue | State::ExtQuotedEnd, b'\r') => State::ExtLf,
            (
                State::ExtName | State::ExtNameSpace | State::ExtValue | State::ExtQuotedEnd | State::ExtValueSpace,
                b';',
            ) => State::ExtStart,
            _ => return Err(Kind::BadChunkExtension),
        };
        self.charge_ext(next)
    }

    fn trailer(&mut self, state: State, octet: u8) -> Result<State, Kind> {
        let next = match (state, octet) {
            (State::EndLf, b'\n') => return Ok(State::Done),
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerName, b':') => State::TrailerValue,
            (State::TrailerStart | State::TrailerName, _) if is_token(octet) => State::TrailerName,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if is_value(octet) => State::TrailerValue,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            _ => return Err(Kind::BadTrailer),
        };
        self.trailer_left = self.trailer_left.checked_sub(1).ok_or(Kind::TrailerTooLarge)?;
        Ok(next)
    }
}

fn hex(octet: u8) -> Option<u64> {
    char::from(octet).to_digit(16).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes in steps of `cut` octets. The body, or the mistake at its offset in the whole input; and what is left.
    fn decode(body: Body, limits: &Limits, input: &[u8], cut: usize) -> (Result<Vec<u8>, Error>, usize) {
        let mut decoder = Decoder::new(body, limits);
        let (mut at, mut data) = (0, Vec::new());
        while at < input.len() && !decoder.is_done() {
            let piece = &input[at..input.len().min(at - at % cut + cut)];
            match decoder.step(piece) {
                Ok(step) => {
                    assert!(step.consumed > 0 && step.done == decoder.is_done());
                    data.extend_from_slice(&piece[step.data.clone()]);
                    at += step.consumed;
                }
                Err(error) => return (Err(Error::new(error.kind, at + error.at as usize)), at),
            }
        }
        (if decoder.is_done() { Ok(data) } else { decoder.eof().map(|()| data) }, at)
    }

    #[test]
    fn it_fits_in_half_a_cache_line() {
        assert!(size_of::<Decoder>() <= 32);
    }

    #[test]
    fn bodies_end_where_they_should() {
        let table: &[(Body, &str, Result<&str, &str>, &str)] = &[
            (Body::None, "GET", Ok(""), "GET"),
            (Body::Length(0), "GET", Ok(""), "GET"),
            (Body::Length(3), "abcGET", Ok("abc"), "GET"),
            (Body::Length(3), "ab", Err("unexpected-eof"), ""),
            (Body::UntilClose, "abc", Ok("abc"), ""),
            (Body::UntilClose, "", Ok(""), ""),
            (Body::UntilClose, "abcdefghijk", Err("body-too-large"), ""),
            (Body::Chunked, "3\r\nabc\r\n0\r\n\r\nGET", Ok("abc"), "GET"),
            (Body::Chunked, "0a\r\nabcdefghij\r\n0\r\n\r\n", Ok("abcdefghij"), ""),
            (Body::Chunked, "6\r\nabcdef\r\n5\r\nabcde\r\n0\r\n\r\n", Err("body-too-large"), ""),
            (Body::Chunked, "B\r\n", Err("body-too-large"), ""),
            (Body::Chunked, "ffffffffffffffff\r\n", Err("body-too-large"), ""),
            (Body::Chunked, "10000000000000000\r\n", Err("chunk-size-overflow"), ""),
            (Body::Chunked, "\r\n", Err("bad-chunk-size"), ""),
            (Body::Chunked, "0x1\r\n", Err("bad-chunk-size"), ""),
            (Body::Chunked, "3\nabc", Err("bad-chunk-line-end"), ""),
            (Body::Chunked, "3\r\nabc0\r\n", Err("bad-chunk-data-end"), ""),
            (Body::Chunked, "3;\r\nabc", Err("bad-chunk-extension"), ""),
            (Body::Chunked, "3;a=\"b\\\"\r\n", Err("bad-chunk-extension"), ""),
            (Body::Chunked, "3;a=\"b\\\\\" ; c = d;e\r\nabc\r\n0;x\r\nT: \t\r\n\r\nG", Ok("abc"), "G"),
            (Body::Chunked, "3;aaaaaaaaaaaaaaaaaaaa\r\nabc\r\n0\r\n\r\n", Err("bad-chunk-extension"), ""),
            (Body::Chunked, "0000000000000000000000\r\n\r\n", Err("bad-chunk-extension"), ""),
            (Body::Chunked, "0\r\nT: aaaaaaaaaaaaaaaaaaa\r\n\r\n", Err("trailer-too-large"), ""),
            (Body::Chunked, "0\r\nT : a\r\n\r\n", Err("bad-trailer"), ""),
            (Body::Chunked, "0\r\n\rX", Err("bad-trailer"), ""),
            (Body::Chunked, "0\r\n", Err("unexpected-eof"), ""),
        ];
        let limits = Limits::DEFAULT.with_body(10).with_chunk_ext(20).with_trailer(16);
        for (body, input, expected, rest) in table {
            let whole = decode(*body, &limits, input.as_bytes(), usize::MAX);
            let found = whole.0.as_ref().map(|data| data.as_slice()).map_err(|error| error.kind.name());
            assert_eq!(found, expected.map(str::as_bytes), "{input:?}");
            if expected.is_ok() {
                assert_eq!(&input[whole.1..], *rest, "{input:?}");
            }
            for cut in 1..input.len() {
                let cut_up = decode(*body, &limits, input.as_bytes(), cut);
                assert_eq!(cut_up.0, whole.0, "{input:?} in steps of {cut}");
            }
        }
    }
}
