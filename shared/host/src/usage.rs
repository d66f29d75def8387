//! What running costs: CPU time of processes and of the machine, and what TCP had to drop.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Sub;
use std::path::Path;

/// CPU time of all living threads of a process, from the scheduler's own sums (`/proc/PID/task/*/schedstat`): nanoseconds, not
/// ticks. Time of threads that have ended is not in it, so two readings bracket a span in which none ends. Kernel threads that
/// work for the process's rings (`iou-wrk-*`, `iou-sqp-*`) are threads of the process and count.
///
/// # Errors
/// `NotFound` when there is no such process; `InvalidData` when the file isn't what `proc(5)` says.
pub fn process_cpu_ns(pid: u32) -> io::Result<u64> {
    process_cpu_ns_at(Path::new("/"), pid)
}

fn process_cpu_ns_at(root: &Path, pid: u32) -> io::Result<u64> {
    let mut sum_ns = 0;
    for task in fs::read_dir(root.join(format!("proc/{pid}/task")))? {
        match fs::read_to_string(task?.path().join("schedstat")) {
            Ok(text) => sum_ns += first_number(&text).ok_or_else(|| malformed("schedstat"))?,
            // The thread ended between the listing and the reading.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sum_ns)
}

fn is_gone(error: &io::Error) -> bool {
    let no_such_process = rustix::io::Errno::SRCH.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(no_such_process)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not what proc(5) says"))
}

/// Time of all CPUs since boot by kind, from `/proc/stat`. Counted in ticks of (usually) 10 ms, which most kernels sample: good for
/// spans of seconds, not for milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user code, niced and guests included.
    pub user_ns: u64,
    /// In the kernel for processes.
    pub system_ns: u64,
    /// In hard interrupts.
    pub irq_ns: u64,
    /// In soft interrupts: where TCP receives.
    pub softirq_ns: u64,
    /// Idle, waiting for storage included (a parked ring counts as waiting: T14 of io_uring's traps).
    pub idle_ns: u64,
    /// Taken by the hypervisor while there was something to run.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// All time in which something ran here.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }

    /// Busy time per time that there was, 0 to 1. What the hypervisor took was not there to be used.
    #[must_use]
    pub fn busy_ratio(&self) -> f64 {
        let all_ns = self.busy_ns() + self.idle_ns;
        if all_ns == 0 { 0.0 } else { self.busy_ns() as f64 / all_ns as f64 }
    }

    /// Reads the columns of a `cpu` line (`proc_stat(5)`).
    fn parse(columns: &str, ns_per_tick: u64) -> Option<Self> {
        let ticks: Vec<u64> = columns.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[user, nice, system, idle, iowait, irq, softirq, ..] = ticks.as_slice() else { return None };
        // Guest time (columns 9 and 10) is part of user and nice already.
        Some(Self {
            user_ns: (user + nice) * ns_per_tick,
            system_ns: system * ns_per_tick,
            irq_ns: irq * ns_per_tick,
            softirq_ns: softirq * ns_per_tick,
            idle_ns: (idle + iowait) * ns_per_tick,
            steal_ns: ticks.get(7).unwrap_or(&0) * ns_per_tick,
        })
    }
}

impl Sub for CpuTimes {
    type Output = Self;

    /// The span from `earlier` to `self`. Idle time may run backwards by a tick (`proc_stat(5)`): that counts as none.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
        }
    }
}

/// What the whole machine did since boot; the difference of two is what it did in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// All CPUs together.
    pub total: CpuTimes,
    /// Each online CPU by number.
    pub by_cpu: Vec<(usize, CpuTimes)>,
    /// Switches from one thread to another.
    pub context_switches: u64,
    /// Soft interrupts that received packets (`NET_RX`).
    pub net_rx_softirqs: u64,
}

impl MachineCpu {
    /// Reads `/proc/stat`.
    ///
    /// # Errors
    /// When `/proc` isn't mounted; `InvalidData` when the file isn't what `proc_stat(5)` says.
    pub fn read() -> io::Result<Self> {
        let ns_per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Self::parse(&fs::read_to_string("/proc/stat")?, ns_per_tick).ok_or_else(|| malformed("/proc/stat"))
    }

    /// What happened from `earlier` to `self`. A CPU that was offline at either end is left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before: HashMap<usize, CpuTimes> = earlier.by_cpu.iter().copied().collect();
        let by_cpu = self.by_cpu.iter().filter_map(|&(cpu, now)| Some((cpu, now - *before.get(&cpu)?)));
        Self {
            total: self.total - earlier.total,
            by_cpu: by_cpu.collect(),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            net_rx_softirqs: self.net_rx_softirqs.saturating_sub(earlier.net_rx_softirqs),
        }
    }

    fn parse(text: &str, ns_per_tick: u64) -> Option<Self> {
        let mut machine = Self::default();
        for line in text.lines() {
            let (name, columns) = line.split_once(' ')?;
            match name {
                "cpu" => machine.total = CpuTimes::parse(columns, ns_per_tick)?,
                "ctxt" => machine.context_switches = columns.trim().parse().ok()?,
                // The sum of all kinds comes first, then HI, TIMER, NET_TX, NET_RX.
                "softirq" => machine.net_rx_softirqs = columns.split_ascii_whitespace().nth(4)?.parse().ok()?,
                _ => {
                    let Some(cpu) = name.strip_prefix("cpu") else { continue };
                    machine.by_cpu.push((cpu.parse().ok()?, CpuTimes::parse(columns, ns_per_tick)?));
                }
            }
        }
        Some(machine)
    }
}

/// TCP's own record of trouble since the network namespace was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTrouble {
    /// Connections that found a full accept queue (`ListenOverflows`).
    pub listen_overflows: u64,
    /// Connection requests dropped for that or any other reason (`ListenDrops`).
    pub listen_drops: u64,
    /// Segments sent again (`RetransSegs`).
    pub retransmitted_segments: u64,
}

impl TcpTrouble {
    /// Reads `/proc/net/netstat` and `/proc/net/snmp`.
    ///
    /// # Errors
    /// When `/proc` isn't mounted; `InvalidData` when a counter is missing.
    pub fn read() -> io::Result<Self> {
        Self::read_at(Path::new("/"))
    }

    /// What happened from `earlier` to `self`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            listen_overflows: self.listen_overflows.saturating_sub(earlier.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
            retransmitted_segments: self.retransmitted_segments.saturating_sub(earlier.retransmitted_segments),
        }
    }

    fn read_at(root: &Path) -> io::Result<Self> {
        let netstat = fs::read_to_string(root.join("proc/net/netstat"))?;
        let snmp = fs::read_to_string(root.join("proc/net/snmp"))?;
        let read = |text, group, name: &str| counter(text, group, name).ok_or_else(|| malformed(name));
        Ok(Self {
            listen_overflows: read(&netstat, "TcpExt:", "ListenOverflows")?,
            listen_drops: read(&netstat, "TcpExt:", "ListenDrops")?,
            retransmitted_segments: read(&snmp, "Tcp:", "RetransSegs")?,
        })
    }
}

/// A counter of `/proc/net/{snmp,netstat}`: the names of a group on one line, their values on the next.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(' ').next() == Some(group));
    let column = lines.next()?.split(' ').position(|column| column == name)?;
    lines.next()?.split(' ').nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tree;

    #[test]
    fn threads_of_a_process_are_summed() {
        let root = tree(&[("proc/7/task/7/schedstat", "1000 5 2\n"), ("proc/7/task/8/schedstat", "234 0 1\n")]);
        assert_eq!(process_cpu_ns_at(root.path(), 7).unwrap(), 1234);
        assert_eq!(process_cpu_ns_at(root.path(), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        let bad = tree(&[("proc/7/task/7/schedstat", "soon\n")]);
        assert_eq!(process_cpu_ns_at(bad.path(), 7).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_thread_that_has_just_ended_is_left_out() {
        let root = tree(&[("proc/7/task/7/schedstat", "1000 5 2\n"), ("proc/7/task/8/other", "")]);
        assert_eq!(process_cpu_ns_at(root.path(), 7).unwrap(), 1000);
    }

    #[test]
    fn own_cpu_time_agrees_with_the_clock() {
        let before = crate::clock::process_cpu_ns();
        // Another test's thread may end in between and take its time along, so only the order of magnitude is certain.
        let read = process_cpu_ns(std::process::id()).unwrap();
        assert!(read > 0 && read <= crate::clock::process_cpu_ns(), "{read} ns, was {before} ns before");
    }

    const STAT: &str = "cpu  100 10 50 800 20 3 7 5 40 4\n\
                        cpu0 60 10 30 400 10 3 7 5 40 4\n\
                        cpu1 40 0 20 400 10 0 0\n\
                        intr 12345 1 2 3\n\
                        ctxt 999\n\
                        btime 1\n\
                        softirq 4000 1 2 3 444 5\n";

    #[test]
    fn stat_lines_become_times() {
        let machine = MachineCpu::parse(STAT, 10).unwrap();
        let total = CpuTimes { user_ns: 1100, system_ns: 500, irq_ns: 30, softirq_ns: 70, idle_ns: 8200, steal_ns: 50 };
        assert_eq!(machine.total, total);
        assert_eq!(total.busy_ns(), 1700);
        assert!((total.busy_ratio() - 1700.0 / 9900.0).abs() < 1e-12);
        assert_eq!(machine.by_cpu.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(machine.by_cpu[1].1.steal_ns, 0);
        assert_eq!((machine.context_switches, machine.net_rx_softirqs), (999, 444));
    }

    #[test]
    fn a_span_is_the_difference_and_never_negative() {
        let earlier = MachineCpu::parse(STAT, 10).unwrap();
        let mut later = earlier.clone();
        later.total.user_ns += 700;
        later.total.idle_ns -= 10;
        later.context_switches += 5;
        later.by_cpu.push((2, CpuTimes::default()));
        let span = later.since(&earlier);
        assert_eq!((span.total.user_ns, span.total.idle_ns, span.context_switches), (700, 0, 5));
        assert_eq!(span.by_cpu.len(), 2);
        assert!((span.total.busy_ratio() - 1.0).abs() < 1e-12);
        assert!(CpuTimes::default().busy_ratio().abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["cpu 1 2 3\n", "cpu a b c d e f g\n", "ctxt many\n", "softirq 1 2\n"] {
            assert_eq!(MachineCpu::parse(text, 10), None, "{text:?}");
        }
    }

    #[test]
    fn counters_are_found_by_name() {
        let files = [
            ("proc/net/netstat", "TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 2 3\nIpExt: A\nIpExt: 9\n"),
            ("proc/net/snmp", "Tcp: RtoMin RetransSegs\nTcp: 200 77\n"),
        ];
        let trouble = TcpTrouble::read_at(tree(&files).path()).unwrap();
        assert_eq!(trouble, TcpTrouble { listen_overflows: 2, listen_drops: 3, retransmitted_segments: 77 });
        assert_eq!(trouble.since(&trouble), TcpTrouble::default());
        let without = [files[0], ("proc/net/snmp", "Tcp: RtoMin\nTcp: 200\n")];
        assert!(TcpTrouble::read_at(tree(&without).path()).is_err());
    }

    #[test]
    fn this_machine_can_be_read() {
        let machine = MachineCpu::read().unwrap();
        assert!(machine.total.busy_ns() > 0 && !machine.by_cpu.is_empty() && machine.context_switches > 0);
        TcpTrouble::read().unwrap();
    }
}
