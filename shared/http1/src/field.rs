//! Field lines and where they are put.

use crate::span::Span;

/// One field line of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The name as it was sent; names are compared without regard to case.
    pub name: Span,
    /// The value without the whitespace around it. In a response it may hold a line fold (CR LF SP): read it as a space.
    pub value: Span,
    /// Which field it is.
    pub known: Known,
}

macro_rules! known {
    ($($len:literal: [$($known:ident = $name:literal),+];)+) => {
        /// Fields that are told apart while parsing.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Known {
            $($(#[doc = concat!("`", $name, "`")] $known,)+)+
            /// Any other name.
            #[default]
            Other,
        }

        impl Known {
            /// Which field has this name, in any case.
            #[inline(always)]
            pub fn of(name: &[u8]) -> Self {
                let words = key(name);
                match name.len() {
                    $($($len if words == const { key($name.as_bytes()) }
                        && ($len <= 16 || ninth(name) == const { ninth($name.as_bytes()) }) => Self::$known,)+)+
                    _ => Self::Other,
                }
            }

            /// Its name in lower case; empty for [`Known::Other`].
            pub const fn as_str(self) -> &'static str {
                match self { $($(Self::$known => $name,)+)+ Self::Other => "" }
            }

            /// All of them but [`Known::Other`].
            pub const ALL: &[Self] = &[$($(Self::$known,)+)+];
        }
    };
}

known! {
    2: [Te = "te"];
    4: [Host = "host", Date = "date", Etag = "etag", Vary = "vary"];
    5: [Range = "range", Allow = "allow"];
    6: [Accept = "accept", Cookie = "cookie", Server = "server", Expect = "expect", Origin = "origin"];
    7: [Upgrade = "upgrade", Referer = "referer", Trailer = "trailer"];
    8: [Location = "location", IfRange = "if-range"];
    10: [Connection = "connection", UserAgent = "user-agent", KeepAlive = "keep-alive", SetCookie = "set-cookie"];
    12: [ContentType = "content-type"];
    13: [Authorization = "authorization", CacheControl = "cache-control", LastModified = "last-modified", IfNoneMatch = "if-none-match"];
    14: [ContentLength = "content-length"];
    15: [AcceptEncoding = "accept-encoding", AcceptLanguage = "accept-language"];
    16: [ContentEncoding = "content-encoding", ProxyConnection = "proxy-connection"];
    17: [TransferEncoding = "transfer-encoding", IfModifiedSince = "if-modified-since"];
}

/// Bit 5 is what upper and lower case differ in. Setting it in every octet keeps token characters apart as far as
/// the names above are concerned: letters come only from letters, and `-` only from CR, which is no token character.
const CASE: u64 = u64::MAX / 255 * 0x20;

/// A name of known length up to 17 as two words: with the length the same for both, equal keys are equal names.
/// Of 17 octets the words miss the one in the middle, see [`ninth`].
#[inline(always)]
const fn key(name: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        return [u64::from_le_bytes(*first) | CASE, u64::from_le_bytes(*last) | CASE];
    }
    let (first, last): (&[u8; 4], &[u8; 4]) = match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => (first, last),
        _ => return short_key(name),
    };
    [u32::from_le_bytes(*first) as u64 | CASE, u32::from_le_bytes(*last) as u64 | CASE]
}

#[inline(always)]
const fn ninth(name: &[u8]) -> u8 {
    if name.len() > 8 { name[8] | 0x20 } else { 0 }
}

const fn short_key(name: &[u8]) -> [u64; 2] {
    match *name {
        [a, b] => [a as u64 | CASE, b as u64 | CASE],
        _ => [0, 0],
    }
}

/// Takes the fields of a head, in order.
pub trait FieldSink {
    /// Takes one; `false` when it is full, which refuses the head with
    /// [`Kind::TooManyHeaders`](crate::Kind::TooManyHeaders) at its end.
    fn push(&mut self, field: Field) -> bool;

    /// Called before a head is parsed from its start: forget the fields of an attempt that ran out of bytes.
    fn reset(&mut self) {}
}

/// Keeps no field. What decides framing is in the head anyway.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFields;

impl FieldSink for NoFields {
    #[inline(always)]
    fn push(&mut self, _: Field) -> bool {
        true
    }
}

/// Keeps up to `N` fields in place.
#[derive(Clone, Debug)]
pub struct FieldArray<const N: usize> {
    fields: [Field; N],
    len: usize,
}

impl<const N: usize> FieldArray<N> {
    /// An empty one.
    pub const fn new() -> Self {
        const EMPTY: Span = Span { off: 0, len: 0 };
        Self { fields: [Field { name: EMPTY, value: EMPTY, known: Known::Other }; N], len: 0 }
    }

    /// The fields of the last head, in the order of their lines.
    #[inline]
    pub fn as_slice(&self) -> &[Field] {
        &self.fields[..self.len]
    }

    /// Forgets all of them.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The first field of this kind.
    pub fn get(&self, known: Known) -> Option<Field> {
        self.as_slice().iter().copied().find(|field| field.known == known)
    }
}

impl<const N: usize> Default for FieldArray<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> FieldSink for FieldArray<N> {
    #[inline(always)]
    fn push(&mut self, field: Field) -> bool {
        let Some(slot) = self.fields.get_mut(self.len) else { return false };
        *slot = field;
        self.len += 1;
        true
    }

    fn reset(&mut self) {
        self.clear();
    }
}

impl<S: FieldSink + ?Sized> FieldSink for &mut S {
    #[inline(always)]
    fn push(&mut self, field: Field) -> bool {
        (**self).push(field)
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case_and_nothing_else_is() {
        for &known in Known::ALL {
            let name = known.as_str();
            assert_eq!(Known::of(name.as_bytes()), known);
            assert_eq!(Known::of(name.to_uppercase().as_bytes()), known);
            for at in 0..name.len() {
                for octet in (0..=255_u8).filter(|&octet| crate::scan::table::is_token(octet)) {
                    let mut other = name.as_bytes().to_vec();
                    other[at] = octet;
                    let same = other.eq_ignore_ascii_case(name.as_bytes());
                    assert_eq!(Known::of(&other) == known, same, "{}", other.escape_ascii());
                }
            }
            assert_ne!(Known::of(&[name.as_bytes(), b"-"].concat()), known);
            assert_ne!(Known::of(&name.as_bytes()[1..]), known);
        }
        assert_eq!(Known::of(b""), Known::Other);
        assert_eq!(Known::of(&[b'a'; 300]), Known::Other);
    }
}
