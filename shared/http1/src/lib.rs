//! Zero-copy HTTP/1.1 codec: request and response heads, body framing, encoders.

#![deny(unsafe_code)]

mod body;
pub mod encode;
mod error;
mod field;
mod fields;
mod framing;
mod limits;
mod list;
mod method;
mod request;
mod response;
mod resume;
mod scan;
mod span;
mod target;
mod view;
mod work;

pub use body::{Body, Decoder, Step};
pub use error::{Error, Kind};
pub use field::{Field, FieldArray, FieldSink, Known, NoFields};
pub use limits::Limits;
pub use method::Method;
pub use request::{RequestHead, request, request_in};
pub use response::{ResponseHead, response, response_in};
pub use resume::Resume;
pub use span::Span;
pub use target::TargetForm;
pub use view::Input;

/// For the tests and benches of this crate only.
#[doc(hidden)]
pub mod back_end {
    /// From fastest to slowest.
    pub const NAMES: [&str; 3] = ["avx2", "sse4.2", "swar"];

    /// Takes this back end in the whole process from now on. `false`: this processor doesn't have it.
    pub fn choose(name: &str) -> bool {
        crate::scan::choose(name)
    }
}

/// The protocol version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1, and any higher minor version: the peer is taken to be at least as able (RFC 9112, section 2.3).
    Http11,
}

/// What a parser says when nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parse<T> {
    /// The head is complete.
    Done(T),
    /// The head isn't complete: come back with more bytes.
    More,
}
