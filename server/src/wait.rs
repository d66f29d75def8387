//! When a worker may sleep. Pure: takes the time as a parameter.

use crate::config::Wait;

/// How long an adaptive worker looks for events before it sleeps: about what one sleep and wake-up costs, so that it is
/// never wrong by more than twice the better choice.
pub const ADAPTIVE_SPIN_NS: u64 = 50_000;

/// Decides, after each look for events, whether the next look may sleep.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    wait: Wait,
    last_event_ns: u64,
    may_sleep: bool,
}

impl Waiter {
    /// A worker that has just begun.
    #[must_use]
    pub fn new(wait: Wait, now_ns: u64) -> Self {
        Self { wait, last_event_ns: now_ns, may_sleep: wait == Wait::Block }
    }

    /// The last look brought `events`.
    #[inline]
    pub fn looked(&mut self, events: usize, now_ns: u64) {
        let sleeps = match self.wait {
            Wait::Block => true,
            Wait::Spin => false,
            Wait::Adaptive => events == 0 && now_ns.saturating_sub(self.last_event_ns) >= ADAPTIVE_SPIN_NS,
        };
        if events > 0 {
            self.last_event_ns = now_ns;
        }
        self.may_sleep = sleeps;
    }

    /// Whether the next look may sleep.
    #[must_use]
    #[inline]
    pub fn may_sleep(&self) -> bool {
        self.may_sleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_adaptive_looks_at_the_clock() {
        for (wait, sleeps) in [(Wait::Block, true), (Wait::Spin, false)] {
            let mut waiter = Waiter::new(wait, 0);
            for (events, now_ns) in [(5, 0), (0, 0), (0, u64::MAX)] {
                assert_eq!(waiter.may_sleep(), sleeps, "{wait:?}");
                waiter.looked(events, now_ns);
            }
        }
    }

    #[test]
    fn adaptive_sleeps_once_nothing_came_for_a_while() {
        let mut waiter = Waiter::new(Wait::Adaptive, 0);
        let steps = [
            (0, ADAPTIVE_SPIN_NS - 1, false),
            (1, ADAPTIVE_SPIN_NS, false),
            (0, 2 * ADAPTIVE_SPIN_NS - 1, false),
            (0, 2 * ADAPTIVE_SPIN_NS, true),
            (0, 9 * ADAPTIVE_SPIN_NS, true),
            (1, 9 * ADAPTIVE_SPIN_NS, false),
            (0, 0, false),
        ];
        for (events, now_ns, sleeps) in steps {
            waiter.looked(events, now_ns);
            assert_eq!(waiter.may_sleep(), sleeps, "{events} events at {now_ns}");
        }
    }
}
