//! A count that one thread keeps and others read.

use std::sync::atomic::{AtomicU64, Ordering};

/// One writer, many readers. Padded to two cache lines, because processors fetch lines in pairs: a reader must not slow down the
/// writer of the neighbouring counter.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts `n` more. Only ever called by one thread at a time: a load and a store instead of a locked addition, which would cost
    /// more than what is counted.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The count as of some moment ago.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_a_count_that_only_grows() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..10_000).for_each(|_| counter.add(1)));
            let mut last = 0;
            while last < 10_000 {
                let now = counter.get();
                assert!(now >= last);
                last = now;
            }
        });
        assert_eq!(counter.get(), 10_000);
    }

    #[test]
    fn neighbours_share_no_cache_line() {
        assert_eq!((size_of::<Counter>(), align_of::<Counter>()), (128, 128));
    }
}
