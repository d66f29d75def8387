//! The value of the Date field, formatted once a second and worker (RFC 9110 section 5.6.7).

use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// Length of an IMF-fixdate.
pub const DATE_LEN_BYTES: usize = 29;

/// Latest time that four digits of a year can say, 9999-12-31 23:59:59.
const LAST_SECS: u64 = 253_402_300_799;

/// A formatted date and the second it stands for.
#[derive(Debug, Clone)]
pub struct DateCell {
    secs: u64,
    text: [u8; DATE_LEN_BYTES],
}

impl DateCell {
    /// A cell that shows `unix_secs`.
    #[must_use]
    pub fn new(unix_secs: u64) -> Self {
        Self { secs: unix_secs, text: format(unix_secs) }
    }

    /// The date of `unix_secs`. Engines ask once a batch of events, right after they woke up: a worker that slept for an
    /// hour answers with the second it woke in, not with the one it fell asleep in.
    #[inline]
    pub fn at(&mut self, unix_secs: u64) -> &[u8; DATE_LEN_BYTES] {
        if unix_secs != self.secs {
            *self = Self::new(unix_secs);
        }
        &self.text
    }

    /// The date last asked for.
    #[must_use]
    #[inline]
    pub fn text(&self) -> &[u8; DATE_LEN_BYTES] {
        &self.text
    }
}

/// Formats without allocating: this runs beside requests, once a second.
fn format(unix_secs: u64) -> [u8; DATE_LEN_BYTES] {
    let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_secs.min(LAST_SECS)));
    let mut text = [b' '; DATE_LEN_BYTES];
    let written = write!(&mut text[..], "{date}");
    debug_assert!(written.is_ok(), "an IMF-fixdate has {DATE_LEN_BYTES} bytes");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_seconds() {
        let cases: [(u64, &[u8; 29]); 5] = [
            (0, b"Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, b"Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_868_799, b"Tue, 29 Feb 2000 23:59:59 GMT"),
            (LAST_SECS, b"Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX, b"Fri, 31 Dec 9999 23:59:59 GMT"),
        ];
        for (secs, text) in cases {
            assert_eq!(DateCell::new(secs).text(), text, "{secs}");
        }
    }

    #[test]
    fn follows_the_clock_in_both_directions() {
        let mut cell = DateCell::new(10);
        assert_eq!(cell.at(3610), b"Thu, 01 Jan 1970 01:00:10 GMT");
        assert_eq!(cell.at(11), b"Thu, 01 Jan 1970 00:00:11 GMT", "an operator may set the clock back");
        assert_eq!(cell.text(), b"Thu, 01 Jan 1970 00:00:11 GMT");
    }
}
