//! Lines for the operator, on stderr, at a bounded rate.

use std::fmt::Display;
use std::io::Write as _;

/// Shortest time between two lines of one kind.
pub const NOTICE_EVERY_NS: u64 = 1_000_000_000;

/// One kind of notice: at most a line a second, with the number of those that were left out.
#[derive(Debug, Default)]
pub struct Notice {
    next_ns: u64,
    left_out: u64,
}

impl Notice {
    /// Whether a line may be written now, and how many were left out before it.
    fn due(&mut self, now_ns: u64) -> Option<u64> {
        if now_ns < self.next_ns {
            self.left_out += 1;
            return None;
        }
        self.next_ns = now_ns.saturating_add(NOTICE_EVERY_NS);
        Some(std::mem::take(&mut self.left_out))
    }

    /// Writes `line`, or counts it when the last one is less than a second old.
    pub fn say(&mut self, now_ns: u64, line: impl Display) {
        match self.due(now_ns) {
            Some(0) => say(line),
            Some(left_out) => say(format_args!("{line} ({left_out} more since)")),
            None => {}
        }
    }
}

/// Writes one line. A stderr that nobody reads any more is no reason to stop serving.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "ringshot-server: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_and_the_rest_counted() {
        let mut notice = Notice::default();
        assert_eq!(notice.due(5), Some(0));
        assert_eq!(notice.due(6), None);
        assert_eq!(notice.due(NOTICE_EVERY_NS), None);
        assert_eq!(notice.due(NOTICE_EVERY_NS + 5), Some(2));
        assert_eq!(notice.due(3 * NOTICE_EVERY_NS), Some(0));
    }
}
