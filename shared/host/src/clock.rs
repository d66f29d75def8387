//! The clocks, as plain integers. Every figure in a report says which of them it was taken with.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// `CLOCK_MONOTONIC`: nanoseconds since boot without suspends. The clock of every latency.
#[must_use]
pub fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// `CLOCK_MONOTONIC_COARSE`: the same clock as of the last tick (1 to 10 ms old), for a quarter of the price.
#[must_use]
pub fn coarse_ns() -> u64 {
    ns(clock_gettime(ClockId::MonotonicCoarse))
}

/// `CLOCK_REALTIME_COARSE`: seconds since 1970, at most a tick late, which a date to the second doesn't show.
#[must_use]
pub fn unix_secs() -> u64 {
    ns(clock_gettime(ClockId::RealtimeCoarse)) / NS_PER_S
}

/// `CLOCK_THREAD_CPUTIME_ID`: CPU time of the calling thread, to the scheduler's precision.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// `CLOCK_PROCESS_CPUTIME_ID`: CPU time of all threads of this process, those that ended included.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    ns(clock_gettime(ClockId::ProcessCPUTime))
}

const NS_PER_S: u64 = 1_000_000_000;

/// A time before the clock's zero (a wall clock set before 1970) counts as zero.
fn ns(time: Timespec) -> u64 {
    let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(NS_PER_S).saturating_add(rest.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_forward() {
        for clock in [monotonic_ns, coarse_ns, thread_cpu_ns, process_cpu_ns] {
            let first = clock();
            assert!(first <= clock());
        }
    }

    #[test]
    fn coarse_is_the_same_clock_and_never_ahead() {
        let coarse = coarse_ns();
        assert!(coarse <= monotonic_ns());
    }

    #[test]
    fn work_shows_in_both_cpu_clocks() {
        let (thread, process) = (thread_cpu_ns(), process_cpu_ns());
        let sum = (0..1_000_000u64).fold(0, |sum: u64, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        assert!(thread_cpu_ns() > thread);
        assert!(process_cpu_ns() > process);
    }

    #[test]
    fn the_wall_clock_counts_from_1970() {
        let system = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!(unix_secs().abs_diff(system) <= 1);
    }

    #[test]
    fn times_before_zero_are_zero() {
        assert_eq!(ns(Timespec { tv_sec: -1, tv_nsec: 5 }), 5);
        assert_eq!(ns(Timespec { tv_sec: 2, tv_nsec: 5 }), 2_000_000_005);
    }
}
