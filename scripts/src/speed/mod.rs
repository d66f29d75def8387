//! `ringshot-lab speed`: the claims of the README, measured again, all of them interleaved in one run.
//!
//! Each row compares an arm of ours with the same work done by Debian's nginx and wrk. Slices of both are taken in turn, in
//! an order shuffled anew each round, because the speed of a shared machine drifts by more than the differences at hand.
//! What is printed is the median of the ratios of each round, with the smallest and the largest: a claim is a ratio.

mod arm;
mod nginx;
mod peer;
mod row;

use std::io::Write;
use std::time::Duration;

use clap::Args;

use crate::error::LabError;
use row::Row;

/// What `speed` measures and for how long.
#[derive(Args, Clone, Debug)]
pub struct SpeedArgs {
    /// Rounds: each takes one slice of every arm.
    #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Length of a slice.
    #[arg(long, default_value_t = 700, value_name = "MS", value_parser = clap::value_parser!(u64).range(100..=60_000))]
    slice_ms: u64,
    /// Measure only these rows.
    #[arg(long, value_name = "ROW", value_enum)]
    only: Vec<row::Kind>,
}

/// Measures every row and prints the table. Returns whether every slice was free of failures.
///
/// # Errors
/// A peer that is missing or can't be started; nothing is measured with half of the arms.
pub fn run(args: &SpeedArgs, stdout: &mut impl Write) -> Result<bool, LabError> {
    let kinds: Vec<row::Kind> = match args.only.is_empty() {
        true => row::Kind::ALL.to_vec(),
        false => args.only.clone(),
    };
    let slice = Duration::from_millis(args.slice_ms);
    let mut rows = kinds.into_iter().map(Row::start).collect::<Result<Vec<_>, _>>()?;
    let mut order = Shuffle::new();
    for round in 0..args.rounds {
        for index in order.next(rows.len()) {
            rows[index].take_slices(slice, order.coin())?;
        }
        eprint_progress(round + 1, args.rounds);
    }
    row::print(&rows, args, stdout)?;
    Ok(rows.iter().all(|row| row.failures() == 0))
}

#[expect(clippy::print_stderr, reason = "progress belongs on stderr")]
fn eprint_progress(done: u32, of: u32) {
    eprintln!("round {done} of {of}");
}

/// A fresh order for each round. xorshift64* seeded by the clock: the order only has to differ, not to be unpredictable.
struct Shuffle {
    state: u64,
}

impl Shuffle {
    fn new() -> Self {
        Self { state: ringshot_host::clock::monotonic_ns() | 1 }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    fn coin(&mut self) -> bool {
        self.random() & 1 == 1
    }

    fn next(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for last in (1..len).rev() {
            let other = self.random() as usize % (last + 1);
            order.swap(last, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_holds_each_row_once_and_orders_differ() {
        let mut shuffle = Shuffle { state: 1 };
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let order = shuffle.next(4);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            seen.insert(order);
        }
        assert_eq!(seen.len(), 24, "all orders come up");
    }
}
