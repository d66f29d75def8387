//! Which points in time the ring has been asked to wake the thread at.
//!
//! A tick on the ring can't be moved, only joined by an earlier one. Invariant: a tick is asked for only when it comes
//! before all that are outstanding, so there are few, and a late one that has become pointless does no harm.

/// Outstanding ticks.
#[derive(Debug, Default)]
pub struct Ticks {
    /// Latest first, so the next one is the last.
    outstanding_ns: Vec<u64>,
}

impl Ticks {
    /// Whether the ring must be asked for a tick at `at_ns`. It counts as outstanding from here on.
    pub fn ask(&mut self, at_ns: u64) -> bool {
        if self.outstanding_ns.last().is_some_and(|next_ns| *next_ns <= at_ns) {
            return false;
        }
        self.outstanding_ns.push(at_ns);
        true
    }

    /// The ring has ticked: that was the next one.
    pub fn ticked(&mut self) {
        self.outstanding_ns.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_earlier_ones_are_asked_for() {
        let mut ticks = Ticks::default();
        assert!(ticks.ask(100));
        assert!(!ticks.ask(100));
        assert!(!ticks.ask(200));
        assert!(ticks.ask(50));
        ticks.ticked();
        assert!(!ticks.ask(150), "the one at 100 is still to come");
        ticks.ticked();
        assert!(ticks.ask(150));
    }
}
