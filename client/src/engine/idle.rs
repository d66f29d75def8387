//! What a thread does while nothing is there, and how long it did.

use ringshot_uring::Wait;

use crate::config::{ADAPTIVE_SPIN, WaitPolicy};

/// The wait policy at work.
#[derive(Debug)]
pub(super) struct Idle {
    policy: WaitPolicy,
    /// When something was there last.
    busy_ns: u64,
    spun_ns: u64,
}

impl Idle {
    pub(super) fn new(policy: WaitPolicy) -> Self {
        Self { policy, busy_ns: 0, spun_ns: 0 }
    }

    /// How the next enter waits.
    #[inline]
    pub(super) fn wait(&self, now_ns: u64) -> Wait {
        match self.policy {
            WaitPolicy::Block => Wait::BLOCK,
            WaitPolicy::Spin => Wait::POLL,
            WaitPolicy::Adaptive if now_ns.saturating_sub(self.busy_ns) < ADAPTIVE_SPIN.as_nanos() as u64 => Wait::POLL,
            WaitPolicy::Adaptive => Wait::BLOCK,
        }
    }

    /// An enter that waited as `waited` lasted from `before_ns` to `now_ns`, and something was `found` or not.
    #[inline]
    pub(super) fn note(&mut self, waited: Wait, found: bool, before_ns: u64, now_ns: u64) {
        if found {
            self.busy_ns = now_ns;
        } else if waited == Wait::POLL {
            self.spun_ns += now_ns.saturating_sub(before_ns);
        }
    }

    /// Time in polls that found nothing.
    pub(super) fn spun_ns(&self) -> u64 {
        self.spun_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adaptive_spins_for_a_while_after_something_was_there() {
        let spin_ns = ADAPTIVE_SPIN.as_nanos() as u64;
        let mut idle = Idle::new(WaitPolicy::Adaptive);
        idle.note(Wait::BLOCK, true, 0, 1_000_000);
        assert_eq!(idle.wait(1_000_000 + spin_ns - 1), Wait::POLL);
        assert_eq!(idle.wait(1_000_000 + spin_ns), Wait::BLOCK);
        idle.note(Wait::POLL, false, 1_000_000, 1_000_700);
        idle.note(Wait::BLOCK, false, 1_000_700, 9_000_000);
        assert_eq!(idle.spun_ns(), 700, "sleeping is not spinning");
    }
}
