//! Which CPUs this process may use, how many workers that makes, and how a thread stays on one of them.

use std::fmt;
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::str::FromStr;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cgroup;

/// CPU numbers at or above this are refused: the kernel's fixed-size affinity mask ends here (`sched_setaffinity(2)`).
pub const MAX_CPUS: usize = CpuSet::MAX_CPU;

/// CPU numbers in the order given, each at most once. Written like the kernel's lists: `0-3,5`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(pub Vec<usize>);

/// Why a list of CPUs is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuListError {
    /// No CPU at all.
    #[error("the list of CPUs is empty; write it like 0-3,5")]
    Empty,
    /// Not a number or a range of numbers.
    #[error("{0:?} is neither a CPU nor a range of CPUs; write the list like 0-3,5")]
    Malformed(String),
    /// A range that runs backwards.
    #[error("the range {0}-{1} runs backwards")]
    Reversed(usize, usize),
    /// A number at or above [`MAX_CPUS`].
    #[error("CPU {0} is out of range; the highest that can be named is {last}", last = MAX_CPUS - 1)]
    TooLarge(usize),
    /// The same CPU twice.
    #[error("CPU {0} is listed twice")]
    Twice(usize),
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Err(CpuListError::Empty);
        }
        let mut cpus = Vec::new();
        for item in text.trim().split(',') {
            let (first, last) = parse_range(item.trim())?;
            for cpu in first..=last {
                if cpus.contains(&cpu) {
                    return Err(CpuListError::Twice(cpu));
                }
                cpus.push(cpu);
            }
        }
        Ok(Self(cpus))
    }
}

fn parse_range(item: &str) -> Result<(usize, usize), CpuListError> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last) = (parse_cpu(first, item)?, parse_cpu(last, item)?);
    if first > last {
        return Err(CpuListError::Reversed(first, last));
    }
    Ok((first, last))
}

fn parse_cpu(digits: &str, item: &str) -> Result<usize, CpuListError> {
    // `usize::from_str` takes a leading '+', which no list of the kernel has.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CpuListError::Malformed(item.to_owned()));
    }
    let cpu = digits.parse().unwrap_or(usize::MAX);
    if cpu >= MAX_CPUS { Err(CpuListError::TooLarge(cpu)) } else { Ok(cpu) }
}

impl fmt::Display for CpuList {
    /// Rising runs become ranges; the order is kept, so that what is printed parses to the same list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for run in self.0.chunk_by(|a, b| a + 1 == *b) {
            match *run {
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                [only] => write!(f, "{separator}{only}")?,
                [] => {}
            }
            separator = ",";
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

/// The CPUs in the calling thread's affinity mask, rising.
///
/// # Errors
/// Those of `sched_getaffinity(2)`: `EINVAL` on a machine with more than [`MAX_CPUS`] CPUs.
pub fn allowed_cpus() -> io::Result<CpuList> {
    let mask = sched_getaffinity(None)?;
    Ok(CpuList((0..MAX_CPUS).filter(|&cpu| mask.is_set(cpu)).collect()))
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// `InvalidInput` when there can be no such CPU; those of `sched_setaffinity(2)` when it is offline or outside of the cpuset.
/// A worker that can't be pinned still works: callers report it and go on.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    pin_thread_to(&CpuList(vec![cpu]))
}

/// Keeps the calling thread on a set of CPUs. Threads that it starts later inherit the set.
///
/// # Errors
/// Those of [`pin_thread`].
pub fn pin_thread_to(cpus: &CpuList) -> io::Result<()> {
    let mut mask = CpuSet::new();
    for &cpu in &cpus.0 {
        if cpu >= MAX_CPUS {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, CpuListError::TooLarge(cpu)));
        }
        mask.set(cpu);
    }
    Ok(sched_setaffinity(None, &mask)?)
}

/// How many workers keep every CPU that this process is given busy: the affinity mask or the cgroup's quota of CPU time, rounded
/// up, whichever is less, and at least one. A container with `--cpus=2` on 64 cores gets 2.
#[must_use]
pub fn default_workers() -> usize {
    let allowed = allowed_cpus().map_or_else(|_| parallelism(), |cpus| cpus.0.len());
    workers_within(allowed, cpu_quota())
}

fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn workers_within(allowed: usize, quota: Option<f64>) -> usize {
    // A float turns into the nearest usize there is, so an absurd quota only loses to `allowed`.
    let by_quota = quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
    allowed.min(by_quota).max(1)
}

/// CPUs' worth of time that the cgroup of this process may use, `None` when it isn't limited. Looks at v1 and v2, and at every
/// cgroup above: the tightest counts.
#[must_use]
pub fn cpu_quota() -> Option<f64> {
    cgroup::cpu_quota(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        let accepted: &[(&str, &[usize])] = &[
            ("0", &[0]),
            ("0-3", &[0, 1, 2, 3]),
            ("0-3,5", &[0, 1, 2, 3, 5]),
            (" 2 , 0-1\n", &[2, 0, 1]),
            ("7-7", &[7]),
            ("1023", &[1023]),
        ];
        for (text, cpus) in accepted {
            assert_eq!(text.parse(), Ok(CpuList(cpus.to_vec())), "{text:?}");
        }
        let refused: &[(&str, CpuListError)] = &[
            ("", CpuListError::Empty),
            (" ", CpuListError::Empty),
            ("a", CpuListError::Malformed("a".to_owned())),
            ("+1", CpuListError::Malformed("+1".to_owned())),
            ("-1", CpuListError::Malformed("-1".to_owned())),
            ("1-", CpuListError::Malformed("1-".to_owned())),
            ("1-2-3", CpuListError::Malformed("1-2-3".to_owned())),
            ("0,,1", CpuListError::Malformed(String::new())),
            ("3-1", CpuListError::Reversed(3, 1)),
            ("1024", CpuListError::TooLarge(1024)),
            ("99999999999999999999999", CpuListError::TooLarge(usize::MAX)),
            ("0-2,1", CpuListError::Twice(1)),
        ];
        for (text, error) in refused {
            assert_eq!(text.parse::<CpuList>(), Err(error.clone()), "{text:?}");
        }
    }

    #[test]
    fn what_is_printed_parses_to_the_same_list() {
        for text in ["0", "0-3", "0-3,5", "3,0-1", "5,4,3", "0,2,4-5"] {
            let list: CpuList = text.parse().unwrap();
            assert_eq!(list.to_string(), text);
            let json = serde_json::to_string(&list).unwrap();
            assert_eq!(serde_json::from_str::<CpuList>(&json).unwrap(), list);
        }
        assert_eq!(CpuList(Vec::new()).to_string(), "");
    }

    #[test]
    fn the_quota_rounds_up_and_never_reaches_zero() {
        let table = [
            (4, None, 4),
            (4, Some(1.0), 1),
            (4, Some(1.5), 2),
            (4, Some(0.1), 1),
            (4, Some(64.0), 4),
            (0, None, 1),
            (4, Some(0.0), 1),
            (4, Some(f64::INFINITY), 4),
        ];
        for (allowed, quota, workers) in table {
            assert_eq!(workers_within(allowed, quota), workers, "{allowed} CPUs, quota {quota:?}");
        }
        assert!(default_workers() >= 1);
    }

    #[test]
    fn a_pinned_thread_is_where_it_was_told_to_be() {
        for cpu in allowed_cpus().unwrap().0 {
            let seen = std::thread::spawn(move || {
                pin_thread(cpu).unwrap();
                (allowed_cpus().unwrap(), rustix::thread::sched_getcpu())
            });
            assert_eq!(seen.join().unwrap(), (CpuList(vec![cpu]), cpu));
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_changes_nothing() {
        let before = allowed_cpus().unwrap();
        assert!(pin_thread(MAX_CPUS).is_err());
        assert!(pin_thread(MAX_CPUS - 1).is_err(), "CPU {} exists here?", MAX_CPUS - 1);
        assert!(pin_thread_to(&CpuList(Vec::new())).is_err());
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
