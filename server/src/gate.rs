//! Whether a worker accepts connections. Pure: takes the time as a parameter.
//!
//! Accepting pauses in two cases, and what arrives meanwhile waits in the listen queue: when as many connections are open as
//! the limit allows, and when the kernel has no descriptor or memory for another. In the second case a level-triggered
//! listener would wake the worker again at once, and a multishot accept ends with every attempt: without a pause both spin.

/// How long accepting pauses when descriptors or memory have run out, unless one of our own connections closes before.
pub const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// What the operator is told when the kernel refuses.
pub const OUT_OF_DESCRIPTORS: &str = "no descriptor or memory left for another connection, accepting pauses; \
    raise `ulimit -n` or lower --max-connections";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Accepting,
    Full,
    /// Until this time, or until fewer connections are open.
    Refused {
        until_ns: u64,
        open: usize,
    },
    /// The server is stopping.
    Shut,
}

/// The gate of one worker.
#[derive(Debug)]
pub struct Gate {
    capacity: usize,
    state: State,
    /// What the engine was told last.
    told: bool,
}

/// Why a pause began, to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Start accepting.
    Accept,
    /// Stop: the limit is reached.
    Full,
    /// Stop: the kernel has refused.
    Refused,
    /// Stop for good.
    Shut,
}

impl Gate {
    /// A gate for at most `capacity` connections. The first [`update`](Self::update) says to accept.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, state: State::Accepting, told: false }
    }

    /// The kernel has refused to accept for lack of descriptors or memory.
    pub fn refused(&mut self, now_ns: u64, open: usize) {
        if self.state != State::Shut {
            self.state = State::Refused { until_ns: now_ns.saturating_add(ACCEPT_PAUSE_NS), open };
        }
    }

    /// No connection is accepted any more.
    pub fn shut(&mut self) {
        self.state = State::Shut;
    }

    /// Whether the engine is to accept another connection while `open` are.
    #[must_use]
    pub fn is_open(&self, open: usize) -> bool {
        self.state == State::Accepting && open < self.capacity
    }

    /// Called once a batch with the number of open connections. `Some`: the engine is to start or stop accepting.
    pub fn update(&mut self, now_ns: u64, open: usize) -> Option<Change> {
        self.state = match self.state {
            State::Refused { until_ns, open: before } if now_ns < until_ns && open >= before => self.state,
            State::Shut => State::Shut,
            _ if open >= self.capacity => State::Full,
            _ => State::Accepting,
        };
        let accepting = self.state == State::Accepting;
        if accepting == std::mem::replace(&mut self.told, accepting) {
            return None;
        }
        Some(match self.state {
            State::Accepting => Change::Accept,
            State::Full => Change::Full,
            State::Refused { .. } => Change::Refused,
            State::Shut => Change::Shut,
        })
    }

    /// When [`update`](Self::update) has to be called even if nothing happens.
    #[must_use]
    pub fn wake_ns(&self) -> Option<u64> {
        match self.state {
            State::Refused { until_ns, .. } => Some(until_ns),
            State::Accepting | State::Full | State::Shut => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_at_the_limit_and_goes_on_below_it() {
        let mut gate = Gate::new(2);
        assert_eq!(gate.update(0, 0), Some(Change::Accept));
        assert_eq!(gate.update(0, 1), None);
        assert!(gate.is_open(1) && !gate.is_open(2));
        assert_eq!(gate.update(0, 2), Some(Change::Full));
        assert_eq!(gate.update(0, 2), None);
        assert_eq!(gate.update(0, 1), Some(Change::Accept));
    }

    #[test]
    fn a_refusal_ends_with_time_or_with_a_close() {
        let mut gate = Gate::new(10);
        assert_eq!(gate.update(0, 5), Some(Change::Accept));
        gate.refused(0, 5);
        assert!(!gate.is_open(5));
        assert_eq!(gate.update(1, 5), Some(Change::Refused));
        assert_eq!(gate.wake_ns(), Some(ACCEPT_PAUSE_NS));
        assert_eq!(gate.update(ACCEPT_PAUSE_NS - 1, 5), None);
        assert_eq!(gate.update(ACCEPT_PAUSE_NS, 5), Some(Change::Accept));
        gate.refused(ACCEPT_PAUSE_NS, 5);
        assert_eq!(gate.update(ACCEPT_PAUSE_NS, 5), Some(Change::Refused));
        assert_eq!(gate.update(ACCEPT_PAUSE_NS, 4), Some(Change::Accept), "a descriptor is free again");
    }

    #[test]
    fn shut_is_for_good() {
        let mut gate = Gate::new(10);
        assert_eq!(gate.update(0, 0), Some(Change::Accept));
        gate.shut();
        gate.refused(0, 0);
        assert_eq!(gate.update(u64::MAX, 0), Some(Change::Shut));
        assert_eq!(gate.update(u64::MAX, 0), None);
        assert_eq!(gate.wake_ns(), None);
    }
}
