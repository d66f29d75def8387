//! What the kernel says about a running program.

use crate::fail;
use crate::failure::Outcome;

/// Open file descriptors.
pub fn open_fds(pid: u32) -> Outcome<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// Resident memory.
pub fn rss_kib(pid: u32) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    match number {
        Some(kib) => Ok(kib),
        None => fail!("no VmRSS of process {pid}"),
    }
}
