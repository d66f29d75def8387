//! Writers that cannot write what they must not.
//!
//! Whatever frames a message (Content-Length, Transfer-Encoding, Connection, in requests Host, in responses Date) is
//! written here and by nobody else; names and values with octets that could end a line are refused.

use crate::Version;
use crate::field::Known;
use crate::scan::table::{is_target, is_token, is_value};
use crate::target::is_authority;
use core::fmt;

/// The interim response that lets a waiting peer send its body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What a response says about the connection after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Persist {
    /// Stays open, and the peer speaks HTTP/1.1: nothing needs to be said.
    KeepAlive11,
    /// Stays open, and the peer speaks HTTP/1.0: says so.
    KeepAlive10,
    /// Is closed after this response: says so.
    Close,
}

impl Persist {
    const ALL: [Self; 3] = [Self::KeepAlive11, Self::KeepAlive10, Self::Close];

    const fn line(self) -> &'static [u8] {
        match self {
            Self::KeepAlive11 => b"",
            Self::KeepAlive10 => b"Connection: keep-alive\r\n",
            Self::Close => b"Connection: close\r\n",
        }
    }
}

/// A message that would be malformed, or would contradict itself. The caller's mistake, not a peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The status isn't in 100 to 999.
    Status,
    /// The method isn't a token.
    Method,
    /// The target is empty or has octets outside of 0x21 to 0x7E, or `#`.
    Target,
    /// The host isn't `host [":" port]`.
    Host,
    /// The name of the field at this index isn't a token.
    FieldName(usize),
    /// The value of the field at this index has control octets.
    FieldValue(usize),
    /// The field at this index is one that only the encoder writes.
    Reserved(usize),
    /// A response of this status has no body (RFC 9110, section 6.4.1), but one was given.
    BodyNotAllowed,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("the status must be from 100 to 999"),
            Self::Method => f.write_str("the method must be a token, such as GET"),
            Self::Target => f.write_str("the target must be printable ASCII without spaces and without a fragment"),
            Self::Host => f.write_str("the host must be a name or address, with a port if need be"),
            Self::FieldName(index) => write!(f, "the name of field {index} must be a token"),
            Self::FieldValue(index) => write!(f, "the value of field {index} must not have control characters"),
            Self::Reserved(index) => write!(f, "field {index} frames the message: the encoder alone writes it"),
            Self::BodyNotAllowed => f.write_str("a response of this status cannot have a body"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Octets of a date as HTTP writes it (RFC 9110, section 5.6.7).
const DATE_LEN: usize = 29;
const DATE_SLOT: &[u8; DATE_LEN] = b"Thu, 01 Jan 1970 00:00:00 GMT";

/// A response that is rendered in advance: writing it is one copy and the date.
///
/// ```
/// use ringshot_http1::encode::{Persist, Prepared};
/// let hello = Prepared::new(200, &[("Server", b"ringshot")], b"hello world").expect("well-formed");
/// let mut out = Vec::new();
/// hello.write(&mut out, Persist::Close, true, b"Sun, 06 Nov 1994 08:49:37 GMT");
/// let expected = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\
///     Server: ringshot\r\nContent-Length: 11\r\n\r\nhello world";
/// assert_eq!(String::from_utf8_lossy(&out), expected);
/// ```
#[derive(Clone, Debug)]
pub struct Prepared {
    status: u16,
    /// Offset of the date, the same in all variants.
    date_at: usize,
    body_len: usize,
    /// Head and body, for each of [`Persist::ALL`].
    variants: [Box<[u8]>; 3],
}

impl Prepared {
    /// Renders a response with these fields and this body. Date and Content-Length are added; a response of status
    /// 1xx, 204 or 304 has neither body nor Content-Length.
    ///
    /// # Errors
    /// What about it cannot be written.
    pub fn new(status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Result<Self, EncodeError> {
        check_response(status, fields, body)?;
        let variants = Persist::ALL.map(|persist| {
            let mut out = Vec::new();
            response_head(&mut out, status, fields, body.len(), persist, DATE_SLOT);
            out.extend_from_slice(body);
            out.into_boxed_slice()
        });
        let mut before = Vec::new();
        status_line(&mut before, status);
        Ok(Self { status, date_at: before.len(), body_len: body.len(), variants })
    }

    /// Appends the response to `out`. Without the body it is the answer to HEAD; its Content-Length stays what GET
    /// would get (RFC 9110, section 8.6).
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, persist: Persist, with_body: bool, date: &[u8; 29]) {
        let whole = &self.variants[persist as usize];
        let start = out.len();
        let len = if with_body { whole.len() } else { whole.len() - self.body_len };
        out.extend_from_slice(&whole[..len]);
        if let Some(slot) = out.get_mut(start + self.date_at..start + self.date_at + DATE_LEN) {
            slot.copy_from_slice(date);
        }
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Octets that [`Prepared::write`] appends at most.
    pub fn max_len(&self) -> usize {
        self.variants.iter().map(|whole| whole.len()).max().unwrap_or(0)
    }
}

/// Appends a response whose body is not known in advance. Rules and order of the fields are those of [`Prepared`].
///
/// # Errors
/// What about it cannot be written; `out` is as it was then.
pub fn response(
    out: &mut Vec<u8>,
    status: u16,
    fields: &[(&str, &[u8])],
    body: &[u8],
    with_body: bool,
    persist: Persist,
    date: &[u8; 29],
) -> Result<(), EncodeError> {
    check_response(status, fields, body)?;
    response_head(out, status, fields, body.len(), persist, date);
    if with_body {
        out.extend_from_slice(body);
    }
    Ok(())
}

fn check_response(status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Result<(), EncodeError> {
    if !(100..=999).contains(&status) {
        return Err(EncodeError::Status);
    }
    if !has_body(status) && !body.is_empty() {
        return Err(EncodeError::BodyNotAllowed);
    }
    check_fields(fields, Known::Date)
}

const fn has_body(status: u16) -> bool {
    !matches!(status, 100..200 | 204 | 304)
}

/// Appends a head whose parts were checked.
fn response_head(
    out: &mut Vec<u8>,
    status: u16,
    fields: &[(&str, &[u8])],
    body_len: usize,
    persist: Persist,
    date: &[u8; DATE_LEN],
) {
    status_line(out, status);
    out.extend_from_slice(date);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(persist.line());
    write_fields(out, fields);
    if has_body(status) {
        write_length(out, body_len);
    }
    out.extend_from_slice(b"\r\n");
}

/// Up to and with the name of the date field.
fn status_line(out: &mut Vec<u8>, status: u16) {
    let digits = [100, 10, 1].map(|unit| b'0' + (status / unit % 10) as u8);
    for part in [b"HTTP/1.1 ", &digits[..], b" ", reason(status).as_bytes(), b"\r\nDate: "] {
        out.extend_from_slice(part);
    }
}

/// The phrases of RFC 9110, section 15. A status without one has none: the phrase may be empty, the space may not.
const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// A request to write.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpec<'a> {
    /// A token, such as `GET`.
    pub method: &'a str,
    /// In the form that goes on the wire, such as `/path?query`.
    pub target: &'a str,
    /// Host and port for the Host field.
    pub host: &'a str,
    /// The version to speak.
    pub version: Version,
    /// More fields. None may frame the message.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// The body. `None` is no body; for POST, PUT and PATCH it is announced as empty (RFC 9110, section 8.6).
    pub body: Option<&'a [u8]>,
    /// Whether the connection shall stay open afterwards.
    pub keep_alive: bool,
}

/// Appends a request.
///
/// # Errors
/// What about it cannot be written; `out` is as it was then.
///
/// ```
/// use ringshot_http1::Version;
/// use ringshot_http1::encode::{EncodeError, RequestSpec, request};
/// let spec = RequestSpec {
///     method: "GET", target: "/", host: "a.example", version: Version::Http11, fields: &[("X", b"1")],
///     body: None, keep_alive: true,
/// };
/// let mut out = Vec::new();
/// request(&mut out, &spec).expect("well-formed");
/// assert_eq!(out, b"GET / HTTP/1.1\r\nHost: a.example\r\nX: 1\r\n\r\n");
/// let split = RequestSpec { fields: &[("X", b"1\r\nY: 2")], ..spec };
/// assert_eq!(request(&mut out, &split), Err(EncodeError::FieldValue(0)));
/// ```
pub fn request(out: &mut Vec<u8>, spec: &RequestSpec<'_>) -> Result<(), EncodeError> {
    check_request(spec)?;
    let version: &[u8] = if spec.version == Version::Http10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" };
    for part in [spec.method.as_bytes(), b" ", spec.target.as_bytes(), version] {
        out.extend_from_slice(part);
    }
    write_field(out, "Host", spec.host.as_bytes());
    match (spec.version, spec.keep_alive) {
        (Version::Http10, true) => out.extend_from_slice(Persist::KeepAlive10.line()),
        (Version::Http11, false) => out.extend_from_slice(Persist::Close.line()),
        // What the version means anyway.
        (Version::Http10, false) | (Version::Http11, true) => {}
    }
    write_fields(out, spec.fields);
    let expected = matches!(spec.method, "POST" | "PUT" | "PATCH");
    if let Some(len) = spec.body.map(<[u8]>::len).or(expected.then_some(0)) {
        write_length(out, len);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(spec.body.unwrap_or_default());
    Ok(())
}

fn check_request(spec: &RequestSpec<'_>) -> Result<(), EncodeError> {
    if spec.method.is_empty() || !spec.method.bytes().all(is_token) {
        return Err(EncodeError::Method);
    }
    if spec.target.is_empty() || !spec.target.bytes().all(is_target) {
        return Err(EncodeError::Target);
    }
    if !is_authority(spec.host.as_bytes()) {
        return Err(EncodeError::Host);
    }
    check_fields(spec.fields, Known::Host)
}

fn check_fields(fields: &[(&str, &[u8])], own: Known) -> Result<(), EncodeError> {
    for (index, (name, value)) in fields.iter().enumerate() {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(EncodeError::FieldName(index));
        }
        if !value.iter().copied().all(is_value) {
            return Err(EncodeError::FieldValue(index));
        }
        let known = Known::of(name.as_bytes());
        let frames = matches!(known, Known::ContentLength | Known::TransferEncoding | Known::Connection);
        if frames || known == own {
            return Err(EncodeError::Reserved(index));
        }
    }
    Ok(())
}

fn write_fields(out: &mut Vec<u8>, fields: &[(&str, &[u8])]) {
    for (name, value) in fields {
        write_field(out, name, value);
    }
}

fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

fn write_length(out: &mut Vec<u8>, len: usize) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = len;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    write_field(out, "Content-Length", &digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

    #[test]
    fn prepared_and_dynamic_responses_are_the_same_octets() {
        let fields: &[(&str, &[u8])] = &[("Server", b"s"), ("X", b"")];
        for (status, body) in [(200, &b"hello"[..]), (404, b""), (204, b""), (304, b""), (999, b"x"), (103, b"")] {
            let prepared = Prepared::new(status, fields, body).expect("well-formed");
            for persist in Persist::ALL {
                for with_body in [false, true] {
                    let (mut left, mut right) = (b"before".to_vec(), b"before".to_vec());
                    prepared.write(&mut left, persist, with_body, DATE);
                    response(&mut right, status, fields, body, with_body, persist, DATE).expect("well-formed");
                    assert_eq!(left, right, "{status} {persist:?}");
                    let text = String::from_utf8(left).expect("ASCII");
                    assert_eq!(text.contains("Content-Length"), has_body(status));
                    assert_eq!(text.contains("Connection: close\r\n"), persist == Persist::Close);
                    assert_eq!(text.contains("Connection: keep-alive\r\n"), persist == Persist::KeepAlive10);
                    assert!(text.len() - "before".len() <= prepared.max_len());
                }
            }
        }
    }

    #[test]
    fn responses_that_cannot_be_written_leave_no_trace() {
        type Row = (u16, &'static str, &'static [u8], &'static [u8], EncodeError);
        let table: &[Row] = &[
            (99, "A", b"b", b"", EncodeError::Status),
            (1000, "A", b"b", b"", EncodeError::Status),
            (200, "", b"b", b"", EncodeError::FieldName(0)),
            (200, "A b", b"b", b"", EncodeError::FieldName(0)),
            (200, "A\r\nB", b"b", b"", EncodeError::FieldName(0)),
            (200, "A", b"b\r\nC: d", b"", EncodeError::FieldValue(0)),
            (200, "A", b"b\nC: d", b"", EncodeError::FieldValue(0)),
            (200, "A", b"b\0", b"", EncodeError::FieldValue(0)),
            (200, "content-LENGTH", b"1", b"", EncodeError::Reserved(0)),
            (200, "Transfer-Encoding", b"chunked", b"", EncodeError::Reserved(0)),
            (200, "Connection", b"close", b"", EncodeError::Reserved(0)),
            (200, "Date", b"now", b"", EncodeError::Reserved(0)),
            (204, "A", b"b", b"x", EncodeError::BodyNotAllowed),
            (304, "A", b"b", b"x", EncodeError::BodyNotAllowed),
            (100, "A", b"b", b"x", EncodeError::BodyNotAllowed),
        ];
        for &(status, name, value, body, error) in table {
            let fields = [(name, value)];
            let mut out = Vec::new();
            let written = response(&mut out, status, &fields, body, true, Persist::Close, DATE);
            assert_eq!((written, out.len()), (Err(error), 0), "{name:?}");
            assert_eq!(Prepared::new(status, &fields, body).map(|_| ()), Err(error), "{name:?}");
        }
    }

    #[test]
    fn requests_say_what_they_must_and_nothing_else() {
        let spec = RequestSpec {
            method: "GET",
            target: "/a?b",
            host: "h:80",
            version: Version::Http11,
            fields: &[],
            body: None,
            keep_alive: true,
        };
        let written = |spec: RequestSpec<'_>| {
            let mut out = Vec::new();
            request(&mut out, &spec).map(|()| String::from_utf8(out).expect("ASCII"))
        };
        let table = [
            (spec, "GET /a?b HTTP/1.1\r\nHost: h:80\r\n\r\n"),
            (RequestSpec { keep_alive: false, ..spec }, "GET /a?b HTTP/1.1\r\nHost: h:80\r\nConnection: close\r\n\r\n"),
            (
                RequestSpec { version: Version::Http10, ..spec },
                "GET /a?b HTTP/1.0\r\nHost: h:80\r\nConnection: keep-alive\r\n\r\n",
            ),
            (
                RequestSpec { version: Version::Http10, keep_alive: false, ..spec },
                "GET /a?b HTTP/1.0\r\nHost: h:80\r\n\r\n",
            ),
            (RequestSpec { method: "POST", ..spec }, "POST /a?b HTTP/1.1\r\nHost: h:80\r\nContent-Length: 0\r\n\r\n"),
            (
                RequestSpec { body: Some(b"0123456789"), ..spec },
                "GET /a?b HTTP/1.1\r\nHost: h:80\r\nContent-Length: 10\r\n\r\n0123456789",
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(written(spec).as_deref(), Ok(expected));
        }
        let refused = [
            (RequestSpec { method: "", ..spec }, EncodeError::Method),
            (RequestSpec { method: "GET ", ..spec }, EncodeError::Method),
            (RequestSpec { target: "", ..spec }, EncodeError::Target),
            (RequestSpec { target: "/a b", ..spec }, EncodeError::Target),
            (RequestSpec { target: "/#a", ..spec }, EncodeError::Target),
            (RequestSpec { target: "/\r\n", ..spec }, EncodeError::Target),
            (RequestSpec { host: "", ..spec }, EncodeError::Host),
            (RequestSpec { host: "a\r\nb", ..spec }, EncodeError::Host),
            (RequestSpec { fields: &[("host", b"x")], ..spec }, EncodeError::Reserved(0)),
            (RequestSpec { fields: &[("A", b"b"), ("Content-Length", b"1")], ..spec }, EncodeError::Reserved(1)),
        ];
        for (spec, error) in refused {
            assert_eq!(written(spec), Err(error));
        }
    }
}
