//! When requests should leave. Pure: time is a parameter, all of it on CLOCK_MONOTONIC in nanoseconds.
//!
//! A closed loop sends the next request when the one before it has been answered, so all that is decided here is whether
//! there is a next one. An open loop would answer [`Plan::take`] by its schedule, and say with [`Plan::next_ns`] when to ask.

/// The schedule of one thread.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Requests that may still be started; `None` without such a limit.
    left: Option<u64>,
    /// No request is started from here on.
    end_ns: Option<u64>,
    over: bool,
}

impl Plan {
    /// A closed loop that ends after `requests` requests, or at `end_ns`, whichever is set and comes first.
    #[must_use]
    pub fn closed(requests: Option<u64>, end_ns: Option<u64>) -> Self {
        Self { left: requests, end_ns, over: false }
    }

    /// How many requests, of the `wanted` that could leave at `now_ns`, should. They count as started from here on.
    pub fn take(&mut self, now_ns: u64, wanted: u32) -> u32 {
        if self.is_over(now_ns) {
            return 0;
        }
        let Some(left) = &mut self.left else { return wanted };
        let taken = u64::from(wanted).min(*left);
        *left -= taken;
        // No more than `wanted`, which is a u32.
        taken as u32
    }

    /// Whether no further request will be started.
    #[must_use]
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.over || self.left == Some(0) || self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }

    /// When something changes without any response having come: the end of the run.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.end_ns
    }

    /// Starts nothing more: the run has been stopped.
    pub fn stop(&mut self) {
        self.over = true;
    }

    /// Whether the run is bounded by a number of requests and not by time.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_as_many_as_were_asked_for() {
        let mut plan = Plan::closed(Some(10), None);
        assert_eq!([plan.take(0, 4), plan.take(0, 4), plan.take(0, 4), plan.take(0, 4)], [4, 4, 2, 0]);
        assert!(plan.is_over(0));
    }

    #[test]
    fn nothing_from_the_end_on() {
        let mut plan = Plan::closed(None, Some(100));
        assert_eq!([plan.take(0, 3), plan.take(99, 3), plan.take(100, 3)], [3, 3, 0]);
        assert!(!plan.is_over(99) && plan.is_over(100));
        assert_eq!(plan.next_ns(), Some(100));
    }

    #[test]
    fn a_stop_ends_it_at_once() {
        let mut plan = Plan::closed(Some(10), Some(100));
        plan.stop();
        assert_eq!(plan.take(0, 1), 0);
    }
}
