//! The report for people: 80 columns, figures first, what they were taken on and how last.

use ringshot_host::affinity::CpuList;
use ringshot_stats::format;
use ringshot_stats::page::Page;
use ringshot_stats::table::{Align, Table};

use super::plan::Placement;
use super::report::{Bound, Core, CpuPerRequest, Latency, PairReport};

const COLUMNS: usize = 80;
const LABEL_COLUMNS: usize = 13;

/// The whole report.
pub(super) fn render(report: &PairReport) -> String {
    let mut page = Page::new(COLUMNS, LABEL_COLUMNS);
    page.row("Pair", &load(report));
    page.row("", &placement(report));
    page.line("");
    page.row("Requests/s", &report.requests_per_s.map_or_else(nothing, |rate| format::count(rate as u64)));
    page.row("Requests", &accounts(report));
    page.block("Latency", &report.latency.map_or_else(nothing, latency));
    page.block("CPU/request", &report.cpu_per_request.map_or_else(nothing, cpu_per_request));
    page.row("Connections", &connections(report));
    page.row("Bound by", &bound(report));
    page.line("");
    page.row("Server", &server(report));
    page.row("Client", &client(report));
    page.row("Machine", &report.machine.to_string());
    page.row("Measured", report.measured);
    for warning in &report.warnings {
        page.line("");
        page.row("Note", warning);
    }
    page.to_string()
}

fn load(report: &PairReport) -> String {
    let settings = &report.settings;
    let warmup = match settings.warmup_ns {
        0 => "without warm-up".to_owned(),
        ns => format!("after a warm-up of {}", format::duration_ns(ns)),
    };
    format!(
        "{}, {} in flight on each, for {} {warmup}",
        many(u64::from(settings.connections), "connection"),
        many(u64::from(settings.pipeline), "request"),
        format::duration_ns(settings.duration_ns),
    )
}

fn placement(report: &PairReport) -> String {
    let settings = &report.settings;
    match settings.placement {
        Placement::Colocated if settings.server_cpus.0.len() == 1 => {
            "colocated: one core runs one server worker and one client thread".to_owned()
        }
        Placement::Colocated => {
            let cores = settings.server_cpus.0.len();
            format!("colocated: each of {cores} cores runs one server worker and one client thread")
        }
        Placement::Split => {
            let cores = |cpus: usize| many(cpus as u64, "core");
            let (server, client) = (settings.server_cpus.0.len(), settings.client_cpus.0.len());
            format!("split: the server on {}, the client on {}", cores(server), cores(client))
        }
    }
}

fn accounts(report: &PairReport) -> String {
    let requests = &report.requests;
    let mut text =
        format!("{} completed, {} failed", format::count(requests.completed), format::count(requests.failed));
    if requests.refused > 0 {
        text.push_str(&format!("; {} of the completed with 4xx or 5xx", format::count(requests.refused)));
    }
    if requests.cancelled > 0 {
        text.push_str(&format!("; {} in flight at the end", format::count(requests.cancelled)));
    }
    text
}

/// In place of figures: zeros would be a lie.
fn nothing() -> String {
    "none completed".to_owned()
}

fn latency(latency: Latency) -> String {
    let columns = [
        ("mean", latency.mean_ns as u64),
        ("p50", latency.p50_ns),
        ("p90", latency.p90_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p999_ns),
        ("max", latency.max_ns),
    ];
    durations(&columns)
}

fn cpu_per_request(cpu: CpuPerRequest) -> String {
    let both_ns = cpu.server_ns + cpu.client_ns;
    let columns =
        [("server", cpu.server_ns), ("client", cpu.client_ns), ("both", both_ns), ("whole machine", cpu.machine_ns)];
    durations(&columns.map(|(name, ns)| (name, ns as u64)))
}

/// Names over their durations.
fn durations(columns: &[(&str, u64)]) -> String {
    let mut table = Table::new(&vec![Align::Right; columns.len()]);
    table.row(columns.iter().map(|(name, _)| *name));
    table.row(columns.iter().map(|(_, ns)| format::duration_ns(*ns)));
    table.to_string()
}

fn connections(report: &PairReport) -> String {
    let (all, own) = (format::count(report.connections.accepted), format::count(report.connections.on_own_core));
    let warmup = if report.settings.warmup_ns == 0 { "" } else { ", those of the warm-up included" };
    match report.settings.placement {
        Placement::Colocated => format!("{own} of {all} served on the core that they arrive on{warmup}"),
        Placement::Split => format!("{all} from the client's cores to the server's{warmup}"),
    }
}

fn bound(report: &PairReport) -> String {
    let words = match report.bound {
        Bound::Cpu => "CPU: the cores in use were busy",
        Bound::Server => "the server: its cores were busy, the client's were not",
        Bound::Client => "the client: its cores were busy, the server could do more",
        Bound::Others => "other programs: the cores were busy, and not only with the pair",
        Bound::Waiting => "waiting, not CPU: more connections or a deeper pipeline would raise the rate",
        Bound::Spinning => "unknown: a core that spins is busy whatever there is to do",
    };
    let cores: Vec<String> = report.cores.iter().take(CORES_SHOWN).map(core).collect();
    let rest = match report.cores.len().saturating_sub(CORES_SHOWN) {
        0 => String::new(),
        rest => format!(", and {rest} more"),
    };
    format!("{words} ({}{rest})", cores.join(", "))
}

/// The text shows no more cores than this; the JSON form has them all.
const CORES_SHOWN: usize = 8;

fn core(core: &Core) -> String {
    format!("CPU {} {}", core.cpu, format::percent(core.busy))
}

fn server(report: &PairReport) -> String {
    let settings = &report.settings;
    let workers = many(settings.server_cpus.0.len() as u64, "worker");
    let (steer, wait) = (word(&settings.steer), word(&settings.wait));
    format!("{workers} on {}, steer {steer}, wait {wait}, engine {}", on(&settings.server_cpus), settings.server_engine)
}

fn client(report: &PairReport) -> String {
    let settings = &report.settings;
    let threads = many(settings.client_cpus.0.len() as u64, "thread");
    // What the kernel gave the ring is for the JSON form.
    let engine = settings.client_engine.split(':').next().unwrap_or_default();
    format!("{threads} on {}, keep-alive, wait {}, engine {engine}", on(&settings.client_cpus), word(&settings.wait))
}

fn on(cpus: &CpuList) -> String {
    format!("CPU{} {cpus}", if cpus.0.len() == 1 { "" } else { "s" })
}

/// The word by which flags name a setting.
fn word(setting: &impl clap::ValueEnum) -> String {
    setting.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn many(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", format::count(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn a_good_run_reads_like_this() {
        let expected = "\
Pair         64 connections, 1 request in flight on each, for 10.0 s after a
             warm-up of 1.00 s
             colocated: each of 2 cores runs one server worker and one client
             thread

Requests/s   160,000
Requests     1,600,000 completed, 0 failed
Latency        mean     p50     p90     p99    p99.9      max
             395 us  381 us  512 us  820 us  1.32 ms  4.10 ms
CPU/request   server   client     both  whole machine
             5.90 us  6.00 us  11.9 us        12.3 us
Connections  128 of 128 served on the core that they arrive on, those of the
             warm-up included
Bound by     CPU: the cores in use were busy (CPU 0 98.0 %, CPU 1 99.0 %)

Server       2 workers on CPUs 0-1, steer cpu, wait block, engine uring
Client       2 threads on CPUs 0-1, keep-alive, wait block, engine io_uring
Machine      Linux 6.18.1
Measured     closed loop on loopback;";
        let text = render(&report(|_, _| ()));
        assert!(text.starts_with(expected), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn a_bad_run_says_so() {
        let text = render(&report(|plan, measured| {
            plan.placement = Placement::Split;
            (plan.server_cpus, plan.client_cpus) = (CpuList(vec![0]), CpuList(vec![1]));
            let driven = &mut measured.driven;
            (driven.failed, driven.refused, driven.cancelled) = (7, 1_234, 5);
        }));
        let words = [
            "7 failed; 1,234 of the completed",
            "5 in flight at the end",
            "split: the server on 1 core",
            "1 worker on CPU 0",
        ];
        for word in words {
            assert!(text.contains(word), "{word:?} is missing:\n{text}");
        }
    }

    #[test]
    fn an_empty_run_has_no_zeros() {
        let text = render(&report(|_, measured| {
            measured.driven.completed = 0;
            (measured.driven.requests_per_s, measured.driven.latency) = (None, None);
        }));
        assert_eq!(text.matches("none completed").count(), 3, "{text}");
    }
}
