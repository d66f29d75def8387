//! What the fields of a head say about where its message ends, and about the connection.
//!
//! A mistake in a value is kept until the head is complete, and then the first one is reported. So what is wrong
//! with the octets comes before what is wrong with their meaning, and neither depends on how the input was cut.

use crate::error::{Error, Kind};
use crate::field::{Field, Known};
use crate::list::members;
use crate::span::Span;
use crate::target::is_authority;

/// The transfer codings of a message, as far as they matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codings {
    /// No Transfer-Encoding field.
    None,
    /// The last one is chunked.
    Chunked,
    /// The last one isn't.
    Other,
}

/// Collects while the lines go by.
pub(crate) struct Framing {
    response: bool,
    mistake: Option<Error>,
    pub(crate) codings: Codings,
    chunked_seen: bool,
    pub(crate) length: Option<u64>,
    pub(crate) host: Option<Span>,
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
    pub(crate) option_upgrade: bool,
    pub(crate) field_upgrade: bool,
    pub(crate) expect_continue: bool,
    /// Where an expectation other than 100-continue stands, plus one.
    pub(crate) expect_other: u32,
}

impl Framing {
    #[inline(always)]
    pub(crate) const fn new(response: bool) -> Self {
        Self {
            response,
            mistake: None,
            codings: Codings::None,
            chunked_seen: false,
            length: None,
            host: None,
            close: false,
            keep_alive: false,
            option_upgrade: false,
            field_upgrade: false,
            expect_continue: false,
            expect_other: 0,
        }
    }

    /// Notes a mistake; the first one stays.
    #[cold]
    pub(crate) fn refuse(&mut self, kind: Kind, at: usize) {
        self.mistake.get_or_insert(Error::new(kind, at));
    }

    /// The first mistake that was noted.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.mistake {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Takes a field into account.
    #[inline(always)]
    pub(crate) fn take(&mut self, bytes: &[u8], field: &Field) {
        match field.known {
            Known::Host => self.take_host(bytes, field.value),
            Known::Connection => self.take_connection(bytes, field.value),
            Known::ContentLength => self.take_length(bytes, field.value),
            Known::TransferEncoding => self.take_codings(bytes, field.value),
            Known::Expect => self.take_expect(bytes, field.value),
            Known::Upgrade => self.field_upgrade = true,
            _ => {}
        }
    }

    #[inline(always)]
    fn take_host(&mut self, bytes: &[u8], value: Span) {
        if self.response {
            return;
        }
        if self.host.is_some() {
            return self.refuse(Kind::DuplicateHost, value.off as usize);
        }
        self.host = Some(value);
        if !value.is_empty() && !is_authority(value.of(bytes)) {
            self.refuse(Kind::BadHost, value.off as usize);
        }
    }

    #[inline(never)]
    fn take_connection(&mut self, bytes: &[u8], value: Span) {
        for option in members(value.of(bytes)) {
            match option.len() {
                5 => self.close |= option.eq_ignore_ascii_case(b"close"),
                10 => self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive"),
                7 => self.option_upgrade |= option.eq_ignore_ascii_case(b"upgrade"),
                _ => {}
            }
        }
    }

    #[inline(never)]
    fn take_length(&mut self, bytes: &[u8], value: Span) {
        let at = value.off as usize;
        let text = value.of(bytes);
        if !self.response && self.length.is_some() {
            return self.refuse(Kind::DuplicateContentLength, at);
        }
        let Some(length) = digits(text).or_else(|| self.equal_digits(text)) else {
            return self.refuse(Kind::BadContentLength, at);
        };
        if self.length.is_some_and(|earlier| earlier != length) {
            return self.refuse(Kind::BadContentLength, at);
        }
        self.length = Some(length);
    }

    /// Equal lengths in a list, as somebody may have joined them: a recipient of responses may take them as one
    /// (RFC 9110, section 8.6).
    fn equal_digits(&self, text: &[u8]) -> Option<u64> {
        let mut lengths = text.split(|&octet| octet == b',').map(|member| digits(member.trim_ascii()));
        let first = lengths.next()??;
        (self.response && lengths.all(|length| length == Some(first))).then_some(first)
    }

    #[inline(never)]
    fn take_codings(&mut self, bytes: &[u8], value: Span) {
        let at = value.off as usize;
        let mut any = false;
        for coding in members(value.of(bytes)) {
            any = true;
            let chunked = coding.eq_ignore_ascii_case(b"chunked");
            if coding.iter().any(|octet| matches!(octet, b';' | b'"')) && !self.response {
                return self.refuse(Kind::BadTransferEncoding, at);
            }
            match (self.codings, chunked) {
                (_, true) if self.chunked_seen => return self.refuse(Kind::ChunkedRepeated, at),
                (Codings::Chunked, false) if !self.response => return self.refuse(Kind::ChunkedNotFinal, at),
                (_, false) if !self.response => return self.refuse(Kind::UnknownTransferCoding, at),
                (_, true) => self.codings = Codings::Chunked,
                (_, false) => self.codings = Codings::Other,
            }
            self.chunked_seen |= chunked;
        }
        if !any {
            self.refuse(Kind::BadTransferEncoding, at);
        }
    }

    #[inline(never)]
    fn take_expect(&mut self, bytes: &[u8], value: Span) {
        for expectation in members(value.of(bytes)) {
            if expectation.eq_ignore_ascii_case(b"100-continue") {
                self.expect_continue = true;
            } else {
                self.expect_other = value.off + 1;
            }
        }
    }
}

/// A run of digits below 2^64. `str::parse` would take a sign.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, octet| {
        let digit = octet.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn digits_alone_make_a_length() {
        let table: &[(&[u8], Option<u64>)] = &[
            (b"0", Some(0)),
            (b"007", Some(7)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"00000000000000000000000000000005", Some(5)),
            (b"", None),
            (b"+5", None),
            (b"-0", None),
            (b"5 ", None),
            (b"0x5", None),
            (b"5_0", None),
            (b"\xB2", None),
        ];
        for &(text, length) in table {
            assert_eq!(digits(text), length, "{}", text.escape_ascii());
        }
    }
}
