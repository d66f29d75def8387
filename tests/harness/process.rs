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

/// Processor time used so far, user and system, in ticks of 10 ms (proc(5): fields 14 and 15 of `stat`).
pub fn cpu_ticks(pid: u32) -> Outcome<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, field 2, ends at the last parenthesis and may hold spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let tick = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
    match (tick(14), tick(15)) {
        (Some(user), Some(system)) => Ok(user + system),
        _ => fail!("no times in {stat:?}"),
    }
}
