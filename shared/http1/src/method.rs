//! Methods, and how they are told apart: a word at a time while there is one.

use crate::error::{Kind, Stop};
use crate::limits::Limits;
use crate::scan::table::is_token;
use crate::view::View;

macro_rules! methods {
    ($($method:ident = $name:literal),+) => {
        /// The method of a request. Names are case-sensitive (RFC 9110, section 9.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = concat!("`", $name, "`")] $method,)+
            /// Any other token; see [`RequestHead::method_span`](crate::RequestHead::method_span).
            Other,
        }

        impl Method {
            /// Its name; empty for [`Method::Other`].
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$method => $name,)+ Self::Other => "" }
            }

            /// The method of this name.
            pub fn of(name: &[u8]) -> Self {
                match name { $(name if name == $name.as_bytes() => Self::$method,)+ _ => Self::Other }
            }

            /// The method whose name is the low octets of `word`; the others are zero.
            #[inline(always)]
            const fn of_word(word: u64) -> Self {
                $(const { assert!($name.len() < 8) };)+
                $(if word == const { padded($name.as_bytes()) } { return Self::$method; })+
                Self::Other
            }
        }
    };
}

methods! {
    Get = "GET", Head = "HEAD", Post = "POST", Put = "PUT", Delete = "DELETE", Options = "OPTIONS", Patch = "PATCH",
    Trace = "TRACE", Connect = "CONNECT"
}

const fn padded(name: &[u8]) -> u64 {
    let mut word = [0; 8];
    let mut i = 0;
    while i < name.len() {
        word[i] = name[i];
        i += 1;
    }
    u64::from_le_bytes(word)
}

/// The method, and where the target starts.
#[inline(always)]
pub(crate) fn method(view: View<'_>, at: usize, limits: &Limits) -> Result<(Method, usize), Stop> {
    if let Some(word) = view.word(at) {
        if word & 0xFFFF_FFFF == GET {
            return Ok((Method::Get, at + 4));
        }
        let len = spaces(word).trailing_zeros() / 8;
        if len < 8 {
            let method = Method::of_word(word & !(!0 << (len * 8)));
            if method != Method::Other {
                return Ok((method, at + len as usize + 1));
            }
        }
    }
    rare_method(view, at, limits)
}

/// `GET ` as a word.
const GET: u64 = u64::from_le_bytes(*b"GET \0\0\0\0");

/// Sets the top bit of the lowest octet that is a space.
#[inline(always)]
fn spaces(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zeros = word ^ (ONES * 0x20);
    zeros.wrapping_sub(ONES) & !zeros & (ONES << 7)
}

#[cold]
#[inline(never)]
fn rare_method(view: View<'_>, at: usize, limits: &Limits) -> Result<(Method, usize), Stop> {
    let mut end = at;
    while is_token(view.at(end)?) {
        if end - at >= limits.method_len() {
            return Err(Stop::bad(Kind::MethodTooLong, end));
        }
        end += 1;
    }
    if view.at(end)? != b' ' || end == at {
        return Err(Stop::bad(Kind::BadMethod, end));
    }
    Ok((Method::of(&view.bytes()[at..end]), end + 1))
}
