//! What a pair amounts to. The text says what matters, the JSON form has all of it; the fields below are its documentation.

use ringshot_host::affinity::CpuList;
use ringshot_host::facts::Facts;
use ringshot_server::config::{Steer, Wait};
use serde::Serialize;
use serde_json::Value;

use super::meter::Meter;
use super::plan::{Placement, Plan};
use super::text;
pub use super::wire::Latency;
use super::wire::{Driven, Listening, Served, Warning};
use crate::cli::Format;

/// Counts changes of the report's shape that a reader must know of.
pub const SCHEMA_VERSION: u32 = 1;
/// From this part of its time on a core counts as busy throughout: `/proc/stat` counts ticks, and a run has a start and an end.
pub const BUSY_FROM: f64 = 0.90;
/// How the figures were taken.
pub const MEASURED: &str = "closed loop on loopback; latency from the first byte of a request handed to the kernel to the last \
    byte of its response (CLOCK_MONOTONIC), failed requests and the warm-up left out; CPU time of server and client from the \
    scheduler, of the whole machine (every process) from the ticks of /proc/stat, all from before the client connects to its end";

/// See the module.
#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of this program.
    pub tool_version: &'static str,
    /// [`MEASURED`].
    pub measured: &'static str,
    /// What was in force.
    pub settings: Settings,
    /// Where the requests went.
    pub requests: Requests,
    /// Completed requests per second; null when there were none.
    pub requests_per_s: Option<f64>,
    /// Latency of the completed requests; null when there were none.
    pub latency: Option<Latency>,
    /// CPU time; null when no request was completed.
    pub cpu_per_request: Option<CpuPerRequest>,
    /// Connections and cores.
    pub connections: Connections,
    /// What the pair ran into.
    pub bound: Bound,
    /// How busy the cores were, in the order of their numbers.
    pub cores: Vec<Core>,
    /// The kernel's own counts, of the whole machine.
    pub kernel: Kernel,
    /// The machine.
    pub machine: Facts,
    /// What a reader must know before believing the figures.
    pub warnings: Vec<String>,
    /// The server's own summary, the warm-up included.
    pub server: Value,
    /// The client's own report: `client/schema/report.schema.json`.
    pub client: Value,
}

/// The settings that were in force.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Which cores the ends ran on.
    pub placement: Placement,
    /// Connections.
    pub connections: u32,
    /// Requests in flight on each.
    pub pipeline: u32,
    /// How long was measured.
    pub duration_ns: u64,
    /// How long it ran before.
    pub warmup_ns: u64,
    /// What both ends did when idle.
    pub wait: Wait,
    /// One worker on each.
    pub server_cpus: CpuList,
    /// How connections were spread over the workers.
    pub steer: Steer,
    /// The server's engine.
    pub server_engine: String,
    /// One thread on each.
    pub client_cpus: CpuList,
    /// The client's engine, and what the kernel gave it.
    pub client_engine: String,
}

/// Where the requests went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Answered in full.
    pub completed: u64,
    /// Of these, with 4xx or 5xx.
    pub refused: u64,
    /// Ended without an answer.
    pub failed: u64,
    /// In flight when the time was up.
    pub cancelled: u64,
    /// Whether the sums balance.
    pub balanced: bool,
}

/// CPU time per completed request, in nanoseconds. On loopback each end's send runs the other end's receive, so the two are only
/// exact together. A thread that spins is using CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuPerRequest {
    /// Of the server's process.
    pub server_ns: f64,
    /// Of the client's process.
    pub client_ns: f64,
    /// Of everything that ran on the machine.
    pub machine_ns: f64,
}

/// Connections that the server accepted, the warm-up's included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// All.
    pub accepted: u64,
    /// Of these, served by a worker on the core on which their packets arrive.
    pub on_own_core: u64,
}

/// What kept the rate from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// All cores in use were busy.
    Cpu,
    /// The server's cores were busy, the client's were not.
    Server,
    /// The client's cores were busy, the server's were not: the server could do more.
    Client,
    /// The cores were busy, and not only with the pair.
    Others,
    /// No core was busy: requests waited for wake-ups and for each other.
    Waiting,
    /// Can't be told: who spins is busy whatever there is to do.
    Spinning,
}

/// One core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Core {
    /// Its number.
    pub cpu: usize,
    /// Whether a worker of the server is on it.
    pub has_server: bool,
    /// Whether a thread of the client is on it.
    pub has_client: bool,
    /// Part of its time in which something ran, 0 to 1.
    pub busy: f64,
    /// Part of its time that the hypervisor took, 0 to 1.
    pub stolen: f64,
}

/// The kernel's own counts while the pair ran, of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Switches from one thread to another.
    pub context_switches: u64,
    /// Soft interrupts that received packets.
    pub net_rx_softirqs: u64,
    /// TCP segments sent again.
    pub retransmitted_segments: u64,
    /// Connections that found a full accept queue.
    pub listen_overflows: u64,
}

/// All that was measured.
pub(super) struct Measured {
    pub(super) listening: Listening,
    pub(super) driven: Driven,
    pub(super) served: Served,
    pub(super) spent: Meter,
}

impl PairReport {
    pub(super) fn new(plan: &Plan, measured: Measured) -> Self {
        let Measured { listening, driven, served, spent } = measured;
        let cores = cores(plan, &spent);
        let mut report = Self {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION"),
            measured: MEASURED,
            settings: settings(plan, listening.engine, driven.engine.clone()),
            requests: Requests {
                completed: driven.completed,
                refused: driven.refused,
                failed: driven.failed,
                cancelled: driven.cancelled,
                balanced: driven.balanced,
            },
            requests_per_s: driven.requests_per_s,
            latency: driven.latency,
            cpu_per_request: cpu_per_request(&driven, &spent),
            connections: Connections { accepted: served.accepted, on_own_core: served.on_own_cpu },
            bound: Bound::Waiting,
            cores,
            kernel: Kernel {
                context_switches: spent.machine.context_switches,
                net_rx_softirqs: spent.machine.net_rx_softirqs,
                retransmitted_segments: spent.tcp.retransmitted_segments,
                listen_overflows: spent.tcp.listen_overflows,
            },
            machine: Facts::read(),
            warnings: Vec::new(),
            server: served.summary,
            client: driven.report,
        };
        report.bound = bound(plan.wait, &report.cores, others(&report));
        report.warnings = warnings(&report, &driven.warnings);
        report
    }

    /// Whether every request was answered, and well.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Requests { completed, refused, failed, balanced, .. } = self.requests;
        completed > 0 && refused == 0 && failed == 0 && balanced
    }

    /// The report in the form that was asked for, with its last line ended.
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => text::render(self),
            // No value of the report has keys other than text, which is all that can be wrong with JSON.
            Format::Json => {
                serde_json::to_string_pretty(self).map_or_else(|error| error.to_string(), |json| json + "\n")
            }
        }
    }
}

fn settings(plan: &Plan, server_engine: String, client_engine: String) -> Settings {
    let nanos = |length: std::time::Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Settings {
        placement: plan.placement,
        connections: plan.connections,
        pipeline: plan.pipeline,
        duration_ns: nanos(plan.duration),
        warmup_ns: nanos(plan.warmup),
        wait: plan.wait,
        server_cpus: plan.server_cpus.clone(),
        steer: plan.steer(),
        server_engine,
        client_cpus: plan.client_cpus.clone(),
        client_engine,
    }
}

fn cpu_per_request(driven: &Driven, spent: &Meter) -> Option<CpuPerRequest> {
    let per_request = |ns: u64| ns as f64 / driven.completed as f64;
    (driven.completed > 0).then(|| CpuPerRequest {
        server_ns: per_request(spent.server_cpu_ns),
        client_ns: per_request(driven.cpu_ns),
        machine_ns: per_request(spent.machine.total.busy_ns()),
    })
}

fn cores(plan: &Plan, spent: &Meter) -> Vec<Core> {
    let core = |&(cpu, times): &(usize, ringshot_host::usage::CpuTimes)| {
        let all_ns = times.busy_ns() + times.idle_ns + times.steal_ns;
        Core {
            cpu,
            has_server: plan.server_cpus.0.contains(&cpu),
            has_client: plan.client_cpus.0.contains(&cpu),
            busy: times.busy_ratio(),
            stolen: if all_ns == 0 { 0.0 } else { times.steal_ns as f64 / all_ns as f64 },
        }
    };
    let cores = spent.machine.by_cpu.iter().map(core);
    cores.filter(|core| core.has_server || core.has_client).collect()
}

/// Part of the busy time that was neither the server's nor the client's, 0 to 1.
fn others(report: &PairReport) -> f64 {
    report.cpu_per_request.map_or(0.0, |cpu| 1.0 - (cpu.server_ns + cpu.client_ns) / cpu.machine_ns).max(0.0)
}

/// A core that only one end uses says something about that end; one that both use says something about both.
fn bound(wait: Wait, cores: &[Core], others: f64) -> Bound {
    let is_busy = |is_of: fn(&Core) -> bool| {
        let busy: Vec<f64> = cores.iter().filter(|core| is_of(core)).map(|core| core.busy).collect();
        !busy.is_empty() && busy.iter().sum::<f64>() / busy.len() as f64 >= BUSY_FROM
    };
    match (wait, is_busy(|core| core.has_server), is_busy(|core| core.has_client)) {
        (Wait::Spin | Wait::Adaptive, ..) => Bound::Spinning,
        (Wait::Block, true, _) | (Wait::Block, _, true) if others >= OTHERS_FROM => Bound::Others,
        (Wait::Block, true, true) => Bound::Cpu,
        (Wait::Block, true, false) => Bound::Server,
        (Wait::Block, false, true) => Bound::Client,
        (Wait::Block, false, false) => Bound::Waiting,
    }
}

/// From these parts of the time on, the figures say more about the neighbours than about the pair.
const STOLEN_FROM: f64 = 0.02;
const OTHERS_FROM: f64 = 0.10;

fn warnings(report: &PairReport, of_client: &[Warning]) -> Vec<String> {
    // That the client's threads are busy is no news here: `bound` says it for both ends.
    let own = of_client.iter().filter(|warning| warning.code != "tool_bound");
    let mut all: Vec<String> = own.map(|warning| warning.text.clone()).collect();
    let others = others(report);
    if others >= OTHERS_FROM {
        let others = ringshot_stats::format::percent(others);
        all.push(format!(
            "Other programs used {others} of the CPU time: stop them, or the rate is theirs as much as the pair's."
        ));
    }
    let stolen = report.cores.iter().map(|core| core.stolen).fold(0.0, f64::max);
    if stolen >= STOLEN_FROM {
        let stolen = ringshot_stats::format::percent(stolen);
        all.push(format!("The hypervisor took up to {stolen} of a core's time: repeat when the host is less busy."));
    }
    let Connections { accepted, on_own_core } = report.connections;
    if report.settings.steer == Steer::Cpu && on_own_core < accepted {
        let strays = accepted - on_own_core;
        all.push(format!(
            "{strays} connections were not served on the core that they arrive on; is pinning refused here?"
        ));
    }
    if report.kernel.listen_overflows > 0 {
        all.push(
            "Accept queues overflowed: net.core.somaxconn is too small for so many connections at once.".to_owned(),
        );
    }
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ringshot_host::usage::{CpuTimes, MachineCpu, TcpTrouble};
    use std::net::SocketAddr;
    use std::time::Duration;

    fn plan() -> Plan {
        Plan {
            placement: Placement::Colocated,
            connections: 64,
            pipeline: 1,
            duration: Duration::from_secs(10),
            warmup: Duration::from_secs(1),
            wait: Wait::Block,
            server_cpus: CpuList(vec![0, 1]),
            client_cpus: CpuList(vec![0, 1]),
        }
    }

    /// A good run of 1,600,000 requests in 10 s, changed by `change`.
    pub(in super::super) fn report(change: impl FnOnce(&mut Plan, &mut Measured)) -> PairReport {
        let busy = |busy_ms: u64| CpuTimes {
            user_ns: busy_ms * 1_000_000,
            idle_ns: (10_000 - busy_ms) * 1_000_000,
            ..CpuTimes::default()
        };
        let mut total = busy(9_800);
        total.user_ns += busy(9_900).user_ns;
        let machine = MachineCpu {
            total,
            by_cpu: vec![(0, busy(9_800)), (1, busy(9_900)), (2, busy(10))],
            context_switches: 400_000,
            net_rx_softirqs: 3_200_000,
        };
        let mut measured = Measured {
            listening: Listening { addr: SocketAddr::from(([127, 0, 0, 1], 1)), engine: "uring".to_owned() },
            driven: Driven {
                completed: 1_600_000,
                failed: 0,
                refused: 0,
                cancelled: 0,
                balanced: true,
                requests_per_s: Some(160_000.0),
                latency: Some(Latency {
                    mean_ns: 395_000.0,
                    p50_ns: 381_000,
                    p90_ns: 512_000,
                    p99_ns: 820_000,
                    p999_ns: 1_320_000,
                    max_ns: 4_100_000,
                }),
                window_ns: Some(10_000_000_000),
                cpu_ns: 9_600_000_000,
                warnings: Vec::new(),
                engine: "io_uring: 1024 entries".to_owned(),
                report: Value::Null,
            },
            served: Served { accepted: 128, on_own_cpu: 128, summary: Value::Null },
            spent: Meter { server_cpu_ns: 9_440_000_000, machine, tcp: TcpTrouble::default() },
        };
        let mut plan = plan();
        change(&mut plan, &mut measured);
        let mut report = PairReport::new(&plan, measured);
        report.machine = Facts { kernel: Some("6.18.1".to_owned()), ..Facts::default() };
        report
    }

    #[test]
    fn a_good_run() {
        let report = report(|_, _| ());
        assert!(report.is_clean());
        let expected = CpuPerRequest { server_ns: 5_900.0, client_ns: 6_000.0, machine_ns: 12_312.5 };
        assert_eq!(report.cpu_per_request, Some(expected));
        assert_eq!(report.bound, Bound::Cpu);
        assert_eq!(report.cores.iter().map(|core| core.cpu).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(report.warnings, [""; 0]);
    }

    #[test]
    fn what_fails_makes_the_run_unclean() {
        let changes: [fn(&mut Driven); 4] = [
            |driven| driven.failed = 1,
            |driven| driven.refused = 1,
            |driven| driven.balanced = false,
            |driven| driven.completed = 0,
        ];
        for change in changes {
            assert!(!report(|_, measured| change(&mut measured.driven)).is_clean());
        }
    }

    #[test]
    fn nothing_completed_means_no_figures() {
        let report = report(|_, measured| {
            measured.driven.completed = 0;
            (measured.driven.requests_per_s, measured.driven.latency) = (None, None);
        });
        assert_eq!(report.cpu_per_request, None);
        assert!(report.render(Format::Json).contains("\"requests_per_s\": null"));
    }

    #[test]
    fn what_bound_it() {
        let core = |cpu, has_server, has_client, busy| Core { cpu, has_server, has_client, busy, stolen: 0.0 };
        let split = |server, client| [core(0, true, false, server), core(1, false, true, client)];
        let table = [
            (Wait::Block, split(0.99, 0.98), Bound::Cpu),
            (Wait::Block, split(0.95, 0.60), Bound::Server),
            (Wait::Block, split(0.60, 0.95), Bound::Client),
            (Wait::Block, split(0.30, 0.30), Bound::Waiting),
            (Wait::Block, [core(0, true, true, 0.95), core(1, true, true, 0.95)], Bound::Cpu),
            (Wait::Block, [core(0, true, true, 0.95), core(1, true, true, 0.50)], Bound::Waiting),
            (Wait::Spin, split(1.0, 1.0), Bound::Spinning),
        ];
        for (wait, cores, expected) in table {
            assert_eq!(bound(wait, &cores, 0.02), expected, "{cores:?}");
        }
        assert_eq!(bound(Wait::Block, &split(0.99, 0.98), 0.5), Bound::Others);
        assert_eq!(bound(Wait::Block, &split(0.30, 0.30), 0.5), Bound::Waiting);
    }

    #[test]
    fn a_reader_is_warned() {
        let report = report(|_, measured| {
            let warning = |code: &str, text: &str| Warning { code: code.to_owned(), text: text.to_owned() };
            measured.driven.warnings = vec![warning("tool_bound", "busy"), warning("failures", "Some failed.")];
            measured.served.on_own_cpu = 100;
            measured.spent.tcp.listen_overflows = 1;
            measured.spent.machine.by_cpu[0].1.steal_ns = 5_000_000_000;
            measured.spent.machine.total.user_ns *= 2;
        });
        let words = ["Some failed.", "Other programs used 51.7 %", "hypervisor", "28 connections", "somaxconn"];
        assert_eq!(report.warnings.len(), words.len(), "{:?}", report.warnings);
        assert!(
            report.warnings.iter().zip(words).all(|(warning, word)| warning.contains(word)),
            "{:?}",
            report.warnings
        );
    }
}
