//! Request heads.

use crate::error::{Error, Kind, Stop};
use crate::field::FieldSink;
use crate::fields::{fields, rare_version, start_line};
use crate::framing::{Codings, Framing};
use crate::limits::Limits;
use crate::method::{Method, method};
use crate::resume::{self, Resume};
use crate::scan::table::is_target;
use crate::scan::{BLOCK, Job, Scan, dispatch};
use crate::span::Span;
use crate::target::{TargetForm, rare_target};
use crate::view::{Input, Room, View};
use crate::{Body, Parse, Version};

/// All that a request head decides. Spans are relative to the slice that was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// How the target is written.
    pub form: TargetForm,
    /// The version, which is also the highest that may be answered with.
    pub version: Version,
    /// The method as it was sent.
    pub method_span: Span,
    /// The target as it was sent.
    pub target: Span,
    /// The path without the query. Of an absolute target it may be empty, which means `/`; of an authority it is.
    pub path: Span,
    /// The query without its question mark.
    pub query: Span,
    /// The host and port that are asked for: from an absolute target or an authority, else from Host.
    pub authority: Span,
    /// Where the body ends.
    pub body: Body,
    /// The number of field lines.
    pub fields: u16,
    /// Octets of the head, with skipped empty lines and the final empty line. The body starts there.
    pub len: u32,
    keep_alive: bool,
    expects_continue: bool,
    upgrade: bool,
}

impl RequestHead {
    /// Whether the connection may carry another request (RFC 9112, section 9.3).
    #[inline]
    pub const fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether the peer waits for 100 (Continue) before it sends the body (RFC 9110, section 10.1.1). Never true
    /// without a body or in HTTP/1.0.
    #[inline]
    pub const fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// Whether both Upgrade and its connection option are there (RFC 9110, section 7.8). It may be ignored.
    #[inline]
    pub const fn upgrade(&self) -> bool {
        self.upgrade
    }
}

/// Parses one request head at the start of `buf`.
///
/// [`Parse::More`] asks to be called again when `buf` has grown at its end, with the same `resume`. Bytes may have
/// moved in memory meanwhile. After [`Parse::Done`] the body, or the next head, starts at `len`, and `resume` is
/// fresh again.
///
/// # Errors
/// What the peer did wrong; see the front page of the crate.
///
/// ```
/// use ringshot_http1::{Body, Limits, Method, NoFields, Parse, Resume, request};
/// let bytes = b"POST /echo?x=1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello";
/// let Ok(Parse::Done(head)) = request(bytes, &mut Resume::default(), &Limits::DEFAULT, &mut NoFields) else {
///     panic!("complete and correct")
/// };
/// assert_eq!((head.method, head.body, head.keep_alive()), (Method::Post, Body::Length(5), true));
/// assert_eq!((head.path.of(bytes), head.query.of(bytes)), (&b"/echo"[..], &b"x=1"[..]));
/// assert_eq!(&bytes[head.len as usize..], b"hello");
/// ```
#[inline]
pub fn request<S: FieldSink>(
    buf: &[u8],
    resume: &mut Resume,
    limits: &Limits,
    sink: &mut S,
) -> Result<Parse<RequestHead>, Error> {
    request_in(Input::plain(buf), resume, limits, sink)
}

/// [`request`] for bytes that may have readable memory behind them.
///
/// # Errors
/// As [`request`].
#[inline]
pub fn request_in<S: FieldSink>(
    input: Input<'_>,
    resume: &mut Resume,
    limits: &Limits,
    sink: &mut S,
) -> Result<Parse<RequestHead>, Error> {
    dispatch(RequestJob { input, resume, limits, sink })
}

pub(crate) struct RequestJob<'a, 'b, K> {
    pub(crate) input: Input<'a>,
    pub(crate) resume: &'b mut Resume,
    pub(crate) limits: &'b Limits,
    pub(crate) sink: &'b mut K,
}

impl<K: FieldSink> Job for RequestJob<'_, '_, K> {
    type Out = Result<Parse<RequestHead>, Error>;

    #[inline(always)]
    fn run<S: Scan>(self, scan: S) -> Self::Out {
        let Self { input, resume, limits, sink } = self;
        let mut room = Room::new();
        let view = View::new(input, &mut room, limits.head_len());
        resume::parse::<S, _, false>(scan, view, resume, limits, |scan| {
            sink.reset();
            head(scan, view, limits, sink)
        })
    }
}

#[inline(always)]
fn head<S: Scan, K: FieldSink>(scan: S, view: View<'_>, limits: &Limits, sink: &mut K) -> Result<RequestHead, Stop> {
    let at = start_line(view, limits)?;
    let line = request_line(scan, view, at, limits)?;
    let mut framing = Framing::new(false);
    let parts = target_parts(view, &line, &mut framing);
    let (len, fields) = fields::<S, K, false>(scan, view, line.end, limits, sink, &mut framing)?;
    finish(&line, parts, &framing, limits, fields, len).map_err(Stop::Bad)
}

/// A request line whose octets are right.
struct RequestLine {
    method: Method,
    method_span: Span,
    target: Span,
    /// Offset of the first question mark of the target, or its end.
    query: usize,
    minor: u8,
    /// Offset of the first field line.
    end: usize,
}

#[inline(always)]
fn request_line<S: Scan>(scan: S, view: View<'_>, at: usize, limits: &Limits) -> Result<RequestLine, Stop> {
    let (method, target) = method(view, at, limits)?;
    let (query, end) = target_end(scan, view, target, limits)?;
    let minor = match view.word(end + 1) {
        Some(word) if word & !(0xFF << 56) == VERSION && ((word >> 56) as u8).is_ascii_digit() => {
            (word >> 56) as u8 - b'0'
        }
        _ => rare_version(view, end + 1)?,
    };
    let fields = match view.line_end(end + 9, Kind::BadVersion) {
        Ok(fields) => fields,
        Err(stop) => return Err(version_end(view, end + 9, stop)),
    };
    let method_span = Span::new(at, target - 1);
    Ok(RequestLine { method, method_span, target: Span::new(target, end), query, minor, end: fields })
}

/// `HTTP/1.` as the low octets of a word.
const VERSION: u64 = u64::from_le_bytes(*b"HTTP/1.\0");

/// A CR without LF after the version ends the line wrongly; anything else makes it a wrong version.
#[cold]
fn version_end(view: View<'_>, at: usize, stop: Stop) -> Stop {
    match (stop, view.bytes().get(at)) {
        (Stop::Bad(_), Some(b'\r')) => Stop::bad(Kind::BadLineEnd, at),
        _ => stop,
    }
}

/// The first question mark of the target (or its end), and its end.
#[inline(always)]
fn target_end<S: Scan>(scan: S, view: View<'_>, start: usize, limits: &Limits) -> Result<(usize, usize), Stop> {
    let limit = limits.target as usize;
    let mut query = usize::MAX;
    let mut at = start;
    loop {
        if at >= view.len() || at - start > limit {
            return Err(open_target(start, limit, view.len()));
        }
        let mask = view.target(scan, at);
        if mask.query != 0 && query == usize::MAX {
            query = at + mask.query.trailing_zeros() as usize;
        }
        if mask.stop != 0 {
            let end = at + mask.stop.trailing_zeros() as usize;
            if end - start > limit || end == start || view.bytes()[end] != b' ' {
                return Err(target_stop(view, start, end, limit)?);
            }
            return Ok((query.min(end), end));
        }
        at += BLOCK;
    }
}

/// A target whose end isn't there yet, and that may be too long already.
#[cold]
fn open_target(start: usize, limit: usize, len: usize) -> Stop {
    match start.saturating_add(limit) {
        bound if len > bound => Stop::bad(Kind::TargetTooLong, bound),
        _ => Stop::More,
    }
}

/// What is wrong where the target stops. A line that ends there lacks its version, unless what stands there could be
/// one: then it is the target that is missing.
#[cold]
fn target_stop(view: View<'_>, start: usize, end: usize, limit: usize) -> Result<Stop, Stop> {
    debug_assert!(!is_target(view.bytes()[end]));
    if end - start > limit {
        return Ok(Stop::bad(Kind::TargetTooLong, start + limit));
    }
    let ended = end > start && view.bytes()[end] == b'\r' && view.at(end + 1)? == b'\n';
    let versionless = ended && matches!(view.bytes()[start], b'/' | b'*');
    Ok(Stop::bad(if versionless { Kind::BadVersion } else { Kind::BadTarget }, end))
}

/// The parts of the target as spans.
#[derive(Clone, Copy)]
struct TargetParts {
    form: TargetForm,
    authority: Span,
    path: Span,
    query: Span,
}

#[inline(always)]
fn target_parts(view: View<'_>, line: &RequestLine, framing: &mut Framing) -> TargetParts {
    let start = line.target.off as usize;
    let end = start + line.target.len as usize;
    let query = Span::new((line.query + 1).min(end), end);
    if view.bytes()[start] == b'/' && line.method != Method::Connect {
        return TargetParts {
            form: TargetForm::Origin,
            authority: Span::default(),
            path: Span::new(start, line.query),
            query,
        };
    }
    rare_parts(view, line, query, framing)
}

#[cold]
#[inline(never)]
fn rare_parts(view: View<'_>, line: &RequestLine, query: Span, framing: &mut Framing) -> TargetParts {
    let start = line.target.off as usize;
    let Some(parts) = rare_target(line.method, line.target.of(view.bytes())) else {
        framing.refuse(Kind::BadTarget, start);
        let none = Span::default();
        return TargetParts { form: TargetForm::Origin, authority: none, path: none, query: none };
    };
    TargetParts {
        form: parts.form,
        authority: Span::new(start + parts.authority.0, start + parts.authority.1),
        path: Span::new(start + parts.path, line.query),
        query,
    }
}

/// Decides what needs the whole head.
#[inline(always)]
fn finish(
    line: &RequestLine,
    parts: TargetParts,
    framing: &Framing,
    limits: &Limits,
    fields: u16,
    len: usize,
) -> Result<RequestHead, Error> {
    framing.check()?;
    let version = if line.minor == 0 { Version::Http10 } else { Version::Http11 };
    let http11 = version == Version::Http11;
    let authority = authority(parts, framing, http11, len)?;
    let body = body(framing, http11, limits, len)?;
    if framing.expect_other != 0 && http11 {
        return Err(Error::new(Kind::ExpectationFailed, framing.expect_other as usize - 1));
    }
    Ok(RequestHead {
        method: line.method,
        form: parts.form,
        version,
        method_span: line.method_span,
        target: line.target,
        path: parts.path,
        query: parts.query,
        authority,
        body,
        fields,
        len: len as u32,
        keep_alive: !framing.close & (http11 | framing.keep_alive),
        expects_continue: framing.expect_continue && http11 && !matches!(body, Body::None | Body::Length(0)),
        upgrade: framing.option_upgrade & framing.field_upgrade & http11,
    })
}

#[inline(always)]
fn authority(parts: TargetParts, framing: &Framing, http11: bool, len: usize) -> Result<Span, Error> {
    let Some(host) = framing.host else {
        return if http11 { Err(Error::new(Kind::MissingHost, len)) } else { Ok(parts.authority) };
    };
    match parts.form {
        TargetForm::Absolute | TargetForm::Authority => Ok(parts.authority),
        TargetForm::Origin if host.is_empty() => Err(Error::new(Kind::BadHost, host.off as usize)),
        _ => Ok(host),
    }
}

#[inline(always)]
fn body(framing: &Framing, http11: bool, limits: &Limits, len: usize) -> Result<Body, Error> {
    if framing.codings == Codings::None {
        return match framing.length {
            None => Ok(Body::None),
            Some(length) if length <= limits.body => Ok(Body::Length(length)),
            Some(_) => Err(Error::new(Kind::BodyTooLarge, len)),
        };
    }
    if framing.length.is_some() {
        return Err(Error::new(Kind::ContentLengthWithTransferEncoding, len));
    }
    if http11 { Ok(Body::Chunked) } else { Err(Error::new(Kind::TransferEncodingIn10, len)) }
}
