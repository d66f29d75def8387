//! What is wrong with a message, where, and what to answer.

use core::fmt;

/// A message that is refused. The connection it came on cannot be used any further: answer once, then close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: Kind,
    /// Where: an offset in the slice that was given to the parser, the same however the input was cut.
    pub at: u32,
}

impl Error {
    #[inline]
    pub(crate) const fn new(kind: Kind, at: usize) -> Self {
        Self { kind, at: at as u32 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer sent a malformed message: {} at byte {}", self.kind.name(), self.at)
    }
}

impl core::error::Error for Error {}

macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident = $name:literal, $status:literal;)+) => {
        /// The ways in which a message is wrong. All but the limits are the peer's mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind { $($(#[$doc])+ $kind,)+ }

        impl Kind {
            /// Every kind, in the order of a message.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// A stable name for logs, counters and tests.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// The status that a server answers with. A client has nobody to answer, so there it means nothing.
            pub const fn status(self) -> u16 {
                match self { $(Self::$kind => $status,)+ }
            }
        }
    };
}

kinds! {
    /// More empty lines before the start line than [`Limits::empty_lines`](crate::Limits::empty_lines).
    TooManyEmptyLines = "too-many-empty-lines", 400;
    /// A line that ends in something other than CR LF (RFC 9112, section 2.2; a lone LF is refused by choice).
    BadLineEnd = "bad-line-end", 400;
    /// The method isn't a token, or more than one space follows it (RFC 9110, section 9.1).
    BadMethod = "bad-method", 400;
    /// The method is longer than [`Limits::method`](crate::Limits::method), so nobody implements it.
    MethodTooLong = "method-too-long", 501;
    /// The target has octets outside of 0x21 to 0x7E, a fragment, userinfo, or a form the method doesn't take
    /// (RFC 9112, section 3.2).
    BadTarget = "bad-target", 400;
    /// The target is longer than [`Limits::target`](crate::Limits::target).
    TargetTooLong = "target-too-long", 414;
    /// No `HTTP/DIGIT.DIGIT` where the version belongs (RFC 9112, section 2.3).
    BadVersion = "bad-version", 400;
    /// A well-formed version whose major number isn't 1.
    UnsupportedVersion = "unsupported-version", 505;
    /// A status line without a three-digit status from 100 up, or with control octets (RFC 9112, section 4).
    BadStatusLine = "bad-status-line", 400;
    /// A field name that isn't a token (RFC 9110, section 5.1), or a line without a colon.
    BadHeaderName = "bad-header-name", 400;
    /// Whitespace between field name and colon (RFC 9112, section 5.1).
    WhitespaceBeforeColon = "whitespace-before-colon", 400;
    /// A control octet in a field value (RFC 9110, section 5.5).
    BadHeaderValue = "bad-header-value", 400;
    /// A field line continued on the next line of a request, or whitespace before the first field line
    /// (RFC 9112, sections 2.2 and 5.2).
    ObsFold = "obs-fold", 400;
    /// More field lines than [`Limits::fields`](crate::Limits::fields), or than the sink takes.
    TooManyHeaders = "too-many-headers", 431;
    /// A start line that fills [`Limits::head`](crate::Limits::head) all alone.
    HeadTooLarge = "head-too-large", 431;
    /// A head longer than [`Limits::head`](crate::Limits::head).
    HeadersTooLarge = "headers-too-large", 431;
    /// An HTTP/1.1 request without Host (RFC 9112, section 3.2).
    MissingHost = "missing-host", 400;
    /// More than one Host field (RFC 9112, section 3.2).
    DuplicateHost = "duplicate-host", 400;
    /// A Host that isn't `host [":" port]` (RFC 9110, section 7.2), or is empty where the target doesn't name one.
    BadHost = "bad-host", 400;
    /// A Content-Length that isn't one run of digits below 2^64 (RFC 9110, section 8.6); in a response also
    /// several that differ.
    BadContentLength = "bad-content-length", 400;
    /// More than one Content-Length field in a request. Equal ones might be accepted (RFC 9112, section 6.3);
    /// they are refused by choice.
    DuplicateContentLength = "duplicate-content-length", 400;
    /// A body longer than [`Limits::body`](crate::Limits::body).
    BodyTooLarge = "body-too-large", 413;
    /// Both Content-Length and Transfer-Encoding in a request (RFC 9112, section 6.1).
    ContentLengthWithTransferEncoding = "content-length-with-transfer-encoding", 400;
    /// Transfer-Encoding in an HTTP/1.0 request (RFC 9112, section 6.1).
    TransferEncodingIn10 = "transfer-encoding-in-1.0", 400;
    /// A Transfer-Encoding without any coding, with parameters, or quoted.
    BadTransferEncoding = "bad-transfer-encoding", 400;
    /// A transfer coding other than chunked in a request.
    UnknownTransferCoding = "unknown-transfer-coding", 501;
    /// A coding applied after chunked (RFC 9112, section 6.3).
    ChunkedNotFinal = "chunked-not-final", 400;
    /// Chunked applied twice (RFC 9112, section 6.1).
    ChunkedRepeated = "chunked-repeated", 400;
    /// An expectation other than 100-continue (RFC 9110, section 10.1.1).
    ExpectationFailed = "expectation-failed", 417;
    /// A chunk size that isn't one run of hexadecimal digits (RFC 9112, section 7.1).
    BadChunkSize = "bad-chunk-size", 400;
    /// A chunk size of 2^64 or more.
    ChunkSizeOverflow = "chunk-size-overflow", 400;
    /// A chunk extension outside of the grammar (RFC 9112, section 7.1.1), or too many octets of them.
    BadChunkExtension = "bad-chunk-extension", 400;
    /// A chunk size followed by something other than CR LF.
    BadChunkLineEnd = "bad-chunk-line-end", 400;
    /// Chunk data followed by something other than CR LF.
    BadChunkDataEnd = "bad-chunk-data-end", 400;
    /// A trailer section outside of the grammar (RFC 9112, section 7.1.2).
    BadTrailer = "bad-trailer", 400;
    /// A trailer section longer than [`Limits::trailer`](crate::Limits::trailer).
    TrailerTooLarge = "trailer-too-large", 431;
    /// The connection ended inside of a message (RFC 9112, section 8).
    UnexpectedEof = "unexpected-eof", 400;
    /// More interim responses than [`Limits::interim`](crate::Limits::interim); found by whoever owns the connection.
    TooManyInterim = "too-many-interim", 400;
}

/// Why a parser leaves before its end: more bytes are needed, or none will help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    More,
    Bad(Error),
}

impl Stop {
    #[cold]
    pub(crate) fn bad(kind: Kind, at: usize) -> Self {
        Self::Bad(Error::new(kind, at))
    }
}
