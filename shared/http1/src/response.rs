//! Response heads.

use crate::error::{Error, Kind, Stop};
use crate::field::FieldSink;
use crate::fields::{fields, rare_version, start_line};
use crate::framing::{Codings, Framing};
use crate::limits::Limits;
use crate::method::Method;
use crate::resume::{self, Resume};
use crate::scan::{Job, Scan, dispatch};
use crate::span::Span;
use crate::view::{Input, Room, View};
use crate::{Body, Parse, Version};

/// All that a response head decides. Spans are relative to the slice that was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The version.
    pub version: Version,
    /// 100 to 999. Above 599 it has no meaning (RFC 9110, section 15): treat it as a server error.
    pub status: u16,
    /// The reason phrase as it was sent, often empty. Nothing depends on it.
    pub reason: Span,
    /// Where the body ends (RFC 9112, section 6.3).
    pub body: Body,
    /// The number of field lines.
    pub fields: u16,
    /// Octets of the head, with skipped empty lines and the final empty line. The body starts there.
    pub len: u32,
    keep_alive: bool,
}

impl ResponseHead {
    /// Whether the connection may carry another response after this one (RFC 9112, section 9.3). Never true when
    /// the body lasts until the connection closes, and when the framing contradicts itself.
    #[inline]
    pub const fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether a final response is still to come for the same request (RFC 9110, section 15.2). 101 is final: what
    /// follows it isn't HTTP.
    #[inline]
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// Parses one response head at the start of `buf`; `method` is that of the request it answers.
///
/// Works as [`request`](fn@crate::request) does.
///
/// # Errors
/// What the peer did wrong; see the front page of the crate.
///
/// ```
/// use ringshot_http1::{Body, Limits, Method, NoFields, Parse, Resume, response};
/// let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// let mut resume = Resume::default();
/// assert_eq!(response(&bytes[..20], &mut resume, &Limits::DEFAULT, Method::Get, &mut NoFields), Ok(Parse::More));
/// let Ok(Parse::Done(head)) = response(bytes, &mut resume, &Limits::DEFAULT, Method::Get, &mut NoFields) else {
///     panic!("complete and correct")
/// };
/// assert_eq!((head.status, head.body, head.keep_alive()), (200, Body::Chunked, true));
/// ```
#[inline]
pub fn response<S: FieldSink>(
    buf: &[u8],
    resume: &mut Resume,
    limits: &Limits,
    method: Method,
    sink: &mut S,
) -> Result<Parse<ResponseHead>, Error> {
    response_in(Input::plain(buf), resume, limits, method, sink)
}

/// [`response`] for bytes that may have readable memory behind them.
///
/// # Errors
/// As [`response`].
#[inline]
pub fn response_in<S: FieldSink>(
    input: Input<'_>,
    resume: &mut Resume,
    limits: &Limits,
    method: Method,
    sink: &mut S,
) -> Result<Parse<ResponseHead>, Error> {
    dispatch(ResponseJob { input, resume, limits, method, sink })
}

pub(crate) struct ResponseJob<'a, 'b, K> {
    pub(crate) input: Input<'a>,
    pub(crate) resume: &'b mut Resume,
    pub(crate) limits: &'b Limits,
    pub(crate) method: Method,
    pub(crate) sink: &'b mut K,
}

impl<K: FieldSink> Job for ResponseJob<'_, '_, K> {
    type Out = Result<Parse<ResponseHead>, Error>;

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) -> Self::Out {
        let Self { input, resume, limits, method, sink } = self;
        let mut room = Room::new();
        let view = View::new(input, &mut room, limits.head_len());
        resume::parse::<S, _, true>(scan, view, resume, limits, |scan| {
            sink.reset();
            head(scan, view, limits, method, sink)
        })
    }
}

#[inline(always)]
fn head<S: Scan, K: FieldSink>(
    scan: S,
    view: View<'_>,
    limits: &Limits,
    method: Method,
    sink: &mut K,
) -> Result<ResponseHead, Stop> {
    let at = start_line(view, limits)?;
    let line = status_line(scan, view, at)?;
    let mut framing = Framing::new(true);
    let (len, fields) = fields::<S, K, true>(scan, view, line.end, limits, sink, &mut framing)?;
    finish(&line, &framing, limits, method, fields, len).map_err(Stop::Bad)
}

struct StatusLine {
    minor: u8,
    status: u16,
    reason: Span,
    /// Offset of the first field line.
    end: usize,
}

/// `HTTP/1.` as the low octets of a word.
const VERSION: u64 = u64::from_le_bytes(*b"HTTP/1.\0");

#[inline(always)]
fn status_line<S: Scan>(scan: S, view: View<'_>, at: usize) -> Result<StatusLine, Stop> {
    let minor = match view.word(at) {
        Some(word) if word & !(0xFF << 56) == VERSION && ((word >> 56) as u8).is_ascii_digit() => {
            (word >> 56) as u8 - b'0'
        }
        _ => rare_version(view, at)?,
    };
    let status = status(view, at + 8)?;
    let after = at + 12;
    if view.at(after)? == b' ' {
        let stop = view.control(scan, after)?;
        let end = view.line_end(stop, Kind::BadStatusLine)?;
        return Ok(StatusLine { minor, status, reason: Span::new(after + 1, stop), end });
    }
    // Without the space that the grammar demands; some servers leave it out together with the phrase.
    let end = view.line_end(after, Kind::BadStatusLine)?;
    Ok(StatusLine { minor, status, reason: Span::new(after, after), end })
}

/// A space and three digits from `at` on.
#[inline(always)]
fn status(view: View<'_>, at: usize) -> Result<u16, Stop> {
    if let Some([b' ', hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9']) =
        view.bytes().get(at..).and_then(|rest| rest.first_chunk())
    {
        let digit = |octet: &u8| u16::from(octet - b'0');
        return Ok(digit(hundreds) * 100 + digit(tens) * 10 + digit(ones));
    }
    Err(rare_status(view, at))
}

#[cold]
#[inline(never)]
fn rare_status(view: View<'_>, at: usize) -> Stop {
    if view.at(at).is_ok_and(|octet| octet.is_ascii_digit()) {
        return Stop::bad(Kind::BadVersion, at);
    }
    for index in 0..4 {
        let fits = match view.at(at + index) {
            Ok(octet) if index == 0 => octet == b' ',
            Ok(octet) if index == 1 => matches!(octet, b'1'..=b'9'),
            Ok(octet) => octet.is_ascii_digit(),
            Err(stop) => return stop,
        };
        if !fits {
            return Stop::bad(Kind::BadStatusLine, at + index);
        }
    }
    Stop::More
}

/// Decides what needs the whole head.
#[inline(always)]
fn finish(
    line: &StatusLine,
    framing: &Framing,
    limits: &Limits,
    method: Method,
    fields: u16,
    len: usize,
) -> Result<ResponseHead, Error> {
    framing.check()?;
    let version = if line.minor == 0 { Version::Http10 } else { Version::Http11 };
    let http11 = version == Version::Http11;
    let body = body(line.status, framing, method);
    if let Body::Length(length) = body
        && length > limits.body
    {
        return Err(Error::new(Kind::BodyTooLarge, len));
    }
    let faulty = framing.codings != Codings::None && (framing.length.is_some() || !http11);
    let framed = !matches!(body, Body::UntilClose | Body::Tunnel) && !faulty;
    Ok(ResponseHead {
        version,
        status: line.status,
        reason: line.reason,
        body,
        fields,
        len: len as u32,
        keep_alive: framed & !framing.close & (http11 | framing.keep_alive),
    })
}

/// The eight rules of RFC 9112, section 6.3, in their order.
#[inline(always)]
fn body(status: u16, framing: &Framing, method: Method) -> Body {
    match (status, method) {
        (101, _) => return Body::Tunnel,
        (100..200 | 204 | 304, _) | (_, Method::Head) => return Body::None,
        (200..300, Method::Connect) => return Body::Tunnel,
        _ => {}
    }
    match (framing.codings, framing.length) {
        (Codings::Chunked, _) => Body::Chunked,
        (Codings::Other, _) | (Codings::None, None) => Body::UntilClose,
        (Codings::None, Some(length)) => Body::Length(length),
    }
}
