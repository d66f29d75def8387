//! How steadily this machine does the same work: a loop of user code, which no setting of a server can help or hurt.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ringshot_host::root::Root;
use rustix::time::{ClockId, clock_gettime};

/// One slice of the loop lasts about this long: shorter than a scheduler's turn, longer than an interrupt.
const SLICE: Duration = Duration::from_millis(1);
/// The lab's comparisons are made of slices of this length; what they see is the mean over it.
const BLOCK: Duration = Duration::from_millis(200);
/// Standard errors between "no difference" and one that is found 4 times in 5 at a 5 % level: 1.96 + 0.84.
const POWER: f64 = 2.8;

/// What was seen while the loop ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// Slices of fixed work.
    pub slices: usize,
    /// The middle one, in nanoseconds.
    pub median_ns: u64,
    /// The slice that 90 % of all are shorter than, over the middle one.
    pub p90: f64,
    /// The longest over the middle one.
    pub max: f64,
    /// Standard deviation of blocks of 200 ms over their mean; `None` with fewer than four.
    pub block_deviation: Option<f64>,
    /// Part of the time that the thread stood in front of a CPU, or the hypervisor did.
    pub waiting: f64,
    /// Part of all CPUs' time that the hypervisor gave to others.
    pub steal: f64,
}

impl Noise {
    /// Blocks of 200 ms that each arm needs until a difference of `difference` (0.01 for 1 %) is told from nothing.
    #[must_use]
    pub fn blocks_to_tell(&self, difference: f64) -> Option<u64> {
        let standard_errors = POWER * self.block_deviation? / difference;
        Some((2.0 * standard_errors * standard_errors).ceil().max(2.0) as u64)
    }
}

/// Runs the loop on whatever CPU the scheduler chooses, as a server's thread would find it.
#[must_use]
pub fn measure(root: &Root, length: Duration) -> Noise {
    let rounds = calibrate();
    let before = cpu_times(root);
    let (start, cpu_start) = (Instant::now(), thread_cpu());
    let mut slices = Vec::with_capacity(length.as_millis() as usize + 1);
    while start.elapsed() < length {
        let slice = Instant::now();
        work(rounds);
        slices.push(slice.elapsed().as_nanos() as u64);
    }
    let (wall, cpu) = (start.elapsed(), thread_cpu().saturating_sub(cpu_start));
    let mut noise = summarise(&slices);
    noise.waiting = 1.0 - (cpu.as_secs_f64() / wall.as_secs_f64()).min(1.0);
    noise.steal = stolen(before, cpu_times(root));
    noise
}

fn work(rounds: u64) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Rounds that take a slice's length, judged by the fastest of several tries.
fn calibrate() -> u64 {
    const TRY: u64 = 100_000;
    let timed = || {
        let start = Instant::now();
        work(TRY);
        start.elapsed().as_nanos().max(1)
    };
    let fastest = (0..20).map(|_| timed()).min().unwrap_or(1);
    (u128::from(TRY) * SLICE.as_nanos() / fastest).max(1) as u64
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Steal and total of all CPUs, in ticks: the first line of proc_stat(5).
fn cpu_times(root: &Root) -> (u64, u64) {
    let stat = Root::read(&root.proc.join("stat")).unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    // The last two columns, guests, are counted in the first two already.
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

fn stolen(before: (u64, u64), after: (u64, u64)) -> f64 {
    match after.1.saturating_sub(before.1) {
        0 => 0.0,
        total => after.0.saturating_sub(before.0) as f64 / total as f64,
    }
}

fn summarise(slices: &[u64]) -> Noise {
    let mut sorted = slices.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| sorted.get(((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1)));
    let median_ns = at(0.5).copied().unwrap_or(0);
    let over = |value: Option<&u64>| value.copied().unwrap_or(0) as f64 / median_ns.max(1) as f64;
    Noise {
        slices: slices.len(),
        median_ns,
        p90: over(at(0.9)),
        max: over(sorted.last()),
        block_deviation: deviation(&block_means(slices)),
        waiting: 0.0,
        steal: 0.0,
    }
}

/// The mean slice of each whole block.
fn block_means(slices: &[u64]) -> Vec<f64> {
    let mut means = Vec::new();
    let (mut sum_ns, mut count) = (0_u64, 0_u64);
    for slice in slices {
        sum_ns += slice;
        count += 1;
        if u128::from(sum_ns) >= BLOCK.as_nanos() {
            means.push(sum_ns as f64 / count as f64);
            (sum_ns, count) = (0, 0);
        }
    }
    means
}

fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 4 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn steady_work_has_no_noise_and_disturbed_work_has() {
        let steady = summarise(&[MS; 1000]);
        assert_eq!((steady.median_ns, steady.p90, steady.max, steady.block_deviation), (MS, 1.0, 1.0, Some(0.0)));
        let disturbed: Vec<u64> = (0..1000).map(|n| if n % 5 == 0 { 3 * MS } else { MS }).collect();
        let disturbed = summarise(&disturbed);
        assert_eq!((disturbed.median_ns, disturbed.p90, disturbed.max), (MS, 3.0, 3.0));
        let drifting: Vec<u64> = (0..1000).map(|n| MS + n * MS / 1000).collect();
        assert!(summarise(&drifting).block_deviation.is_some_and(|deviation| deviation > 0.1));
    }

    #[test]
    fn few_slices_say_little_and_break_nothing() {
        assert_eq!(summarise(&[]).block_deviation, None);
        assert_eq!(summarise(&[MS; 300]).block_deviation, None, "one block has no spread");
        assert_eq!(summarise(&[MS]).median_ns, MS);
    }

    #[test]
    fn more_noise_needs_more_blocks() {
        let noise = |deviation| Noise { block_deviation: Some(deviation), ..summarise(&[MS; 10]) };
        // 2 x (2.8 x 0.05 / 0.01)^2
        assert_eq!(noise(0.05).blocks_to_tell(0.01), Some(392));
        assert_eq!(noise(0.0).blocks_to_tell(0.01), Some(2));
        assert!(noise(0.1).blocks_to_tell(0.01) > noise(0.05).blocks_to_tell(0.01));
        assert_eq!(summarise(&[]).blocks_to_tell(0.01), None);
    }

    #[test]
    fn steal_is_its_part_of_all_time() {
        assert_eq!(stolen((10, 1000), (35, 1100)), 0.25);
        assert_eq!(stolen((10, 1000), (10, 1000)), 0.0);
    }
}
