//! Latencies without a list of them.

use hdrhistogram::Histogram as Hdr;

/// Durations from 1 ns to [`Histogram::MAX_NS`] at three significant digits, in fixed memory (about 260 KiB): recording never
/// allocates. Nothing is lost: a longer duration counts as the longest one and is reported by [`Histogram::clamped`].
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Hdr<u64>,
    clamped: u64,
}

impl Histogram {
    /// One hour. Nothing that is measured here waits longer.
    pub const MAX_NS: u64 = 3_600_000_000_000;

    const DIGITS: u8 = 3;

    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        // The bounds are constants and valid; growing from the smallest is only there for the type's sake.
        let counts = Hdr::new_with_bounds(1, Self::MAX_NS, Self::DIGITS).expect("constant bounds are valid");
        Self { counts, clamped: 0 }
    }

    /// Counts one duration.
    pub fn record(&mut self, ns: u64) {
        self.clamped += u64::from(ns > Self::MAX_NS);
        self.counts.saturating_record(ns.min(Self::MAX_NS));
    }

    /// Counts everything that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        self.clamped += other.clamped;
        self.counts.add(&other.counts).expect("all histograms have the same bounds");
    }

    /// How many durations were counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many durations were longer than [`Histogram::MAX_NS`].
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Mean in nanoseconds, 0 when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.counts.mean()
    }

    /// Standard deviation in nanoseconds, 0 when empty.
    #[must_use]
    pub fn stdev(&self) -> f64 {
        self.counts.stdev()
    }

    /// The shortest duration in nanoseconds, rounded down to three digits; 0 when empty.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.counts.min()
    }

    /// The longest duration in nanoseconds, rounded up to three digits; 0 when empty.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.counts.max().min(Self::MAX_NS)
    }

    /// The duration in nanoseconds that a part `q` (0 to 1) of all durations doesn't exceed, rounded up to three digits; 0 when
    /// empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        self.counts.value_at_quantile(q).min(self.max())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        samples.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    /// Equal to three digits.
    #[track_caller]
    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() <= expected * 1e-3, "{got} is not {expected}");
    }

    #[test]
    fn quantiles_of_an_even_spread() {
        let histogram = of((1..=100_000).map(|i| i * 1000));
        assert_eq!(histogram.len(), 100_000);
        for q in [0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
            close(histogram.quantile(q) as f64, q * 100_000_000.0);
        }
        close(histogram.mean(), 50_000_500.0);
        close(histogram.stdev(), 28_867_513.0);
        close(histogram.min() as f64, 1000.0);
        close(histogram.max() as f64, 100_000_000.0);
    }

    #[test]
    fn empty() {
        let histogram = Histogram::new();
        assert!(histogram.is_empty());
        assert_eq!((histogram.len(), histogram.min(), histogram.max(), histogram.quantile(0.5)), (0, 0, 0, 0));
        assert!(histogram.mean().abs() < f64::EPSILON && histogram.stdev().abs() < f64::EPSILON);
    }

    #[test]
    fn extremes_are_counted_and_told() {
        let histogram = of([0, 1, Histogram::MAX_NS, Histogram::MAX_NS + 1, u64::MAX]);
        assert_eq!((histogram.len(), histogram.clamped()), (5, 2));
        assert_eq!((histogram.min(), histogram.max()), (0, Histogram::MAX_NS));
        assert_eq!(histogram.quantile(1.0), Histogram::MAX_NS);
    }

    #[test]
    fn merging_is_recording_both() {
        let (a, b) = (of([5, 70, 900]), of([1, u64::MAX]));
        let mut both = a.clone();
        both.merge(&b);
        let direct = of([5, 70, 900, 1, u64::MAX]);
        assert_eq!((both.len(), both.clamped(), both.min(), both.max()), (5, 1, direct.min(), direct.max()));
        for q in [0.0, 0.2, 0.5, 0.8, 1.0] {
            assert_eq!(both.quantile(q), direct.quantile(q));
        }
    }
}
