//! What a run amounts to. The text and the JSON form say the same; the JSON form has more of it.
//!
//! The shape is part of the interface: [`shape`] declares it, `schema/report.schema.json` describes it, and
//! [`SCHEMA_VERSION`] counts its changes. Here it is filled.

pub mod json;
pub mod shape;
pub mod text;

use ringshot_host::facts::Facts;

use crate::config::{Config, Limit};
use crate::record::{Class, Record};
use crate::warn;
use crate::worker::Finished;

pub use shape::*;

impl Report {
    /// Adds up what the threads saw.
    #[must_use]
    pub fn new(config: &Config, settings: Settings, interrupted: bool, threads: &[Finished]) -> Self {
        let mut record = Record::default();
        threads.iter().for_each(|thread| record.merge(&thread.outcome.record));
        let requests = requests(config, &record);
        let window_ns = record.first_ns.zip(record.last_ns).map(|(first, last)| last.saturating_sub(first).max(1));
        let rate = window_ns.map(|window_ns| rate(&record, window_ns));
        let latency = Distribution::of(&record.latency);
        let mean_s = latency.as_ref().map(|latency| latency.mean_ns / 1e9);
        let gave_up = requests.never_started.is_some_and(|count| count > 0);
        let mut report = Self {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION"),
            ending: match (interrupted, gave_up) {
                (true, _) => Ending::Interrupted,
                (false, true) => Ending::GaveUp,
                (false, false) => Ending::Complete,
            },
            clock: CLOCK,
            measured: MEASURED,
            excluded: EXCLUDED,
            window: WINDOW,
            window_ns,
            classes: Class::ALL.map(|class| ClassCount { class, count: record.count(class) }).to_vec(),
            statuses: record.statuses().map(|(status, count)| StatusCount { status, count }).collect(),
            reasons: reasons(&record),
            rate,
            transfer: transfer(&record),
            latency_error: Distribution::of(&record.latency_error),
            connect: Distribution::of(&record.connect),
            unanswered_age: Distribution::of(&record.unanswered),
            connections: connections(config, &record, threads),
            in_flight: InFlight {
                requested: u64::from(settings.connections) * u64::from(settings.pipeline),
                mean: rate.zip(mean_s).map(|(rate, mean_s)| rate.requests_per_s * mean_s),
            },
            tool: tool(&record, threads),
            machine: Facts::read(),
            warnings: Vec::new(),
            settings,
            requests,
            latency,
        };
        report.warnings = warn::all(&report);
        report
    }

    /// Requests that ended in `class`.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.classes.iter().find(|entry| entry.class == class).map_or(0, |entry| entry.count)
    }

    /// The exit code of the program: see its `--help`.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let refused = self.count(Class::Completed4xx) + self.count(Class::Completed5xx);
        match self.ending {
            Ending::Interrupted => 130,
            _ if self.requests.completed == 0 => 4,
            Ending::Complete if self.requests.failed + refused == 0 => 0,
            _ => 1,
        }
    }
}

fn requests(config: &Config, record: &Record) -> Requests {
    let planned = match config.limit {
        Limit::Requests(requests) => Some(requests),
        Limit::Duration(_) => None,
    };
    let (completed, cancelled) = (record.completed_total(), record.count(Class::Cancelled));
    let failed = Class::ALL.into_iter().filter(|class| !class.is_completed() && *class != Class::Cancelled);
    let failed = failed.map(|class| record.count(class)).sum::<u64>();
    let balanced = completed + failed + cancelled == record.started && planned.is_none_or(|n| n >= record.started);
    Requests {
        planned,
        started: record.started,
        completed,
        failed,
        cancelled,
        never_started: planned.map(|planned| planned.saturating_sub(record.started)),
        balanced,
    }
}

fn rate(record: &Record, window_ns: u64) -> Rate {
    let per_s = |count: u64| count as f64 * 1e9 / window_ns as f64;
    let ok = record.count(Class::Completed2xx) + record.count(Class::Completed3xx);
    Rate {
        requests_per_s: per_s(record.completed_total()),
        ok_per_s: per_s(ok),
        received_bytes_per_s: per_s(record.received_bytes),
    }
}

fn transfer(record: &Record) -> Transfer {
    Transfer {
        received_bytes: record.received_bytes,
        body_bytes: record.body_bytes,
        sent_bytes: record.sent_bytes,
        interim_responses: record.interim,
    }
}

fn reasons(record: &Record) -> Vec<ReasonCount> {
    let all = record.reasons().into_iter();
    all.map(|(class, reason, count)| ReasonCount { class, reason: reason.to_string(), count }).collect()
}

fn connections(config: &Config, record: &Record, threads: &[Finished]) -> Connections {
    let mut answered: Vec<u64> = threads.iter().flat_map(|thread| thread.outcome.answered.iter().copied()).collect();
    answered.sort_unstable();
    Connections {
        requested: config.connections,
        counts: record.connections,
        answered_min: answered.first().copied().unwrap_or(0),
        answered_median: answered.get(answered.len() / 2).copied().unwrap_or(0),
        answered_max: answered.last().copied().unwrap_or(0),
        starved: answered.iter().filter(|count| **count == 0).count() as u64,
    }
}

fn tool(record: &Record, threads: &[Finished]) -> Tool {
    let uses: Vec<ThreadUse> = threads.iter().map(thread_use).collect();
    let cpu_ns = uses.iter().map(|thread| thread.cpu_ns.saturating_sub(thread.idle_spin_ns)).sum::<u64>();
    let completed = record.completed_total();
    let sum =
        |of: fn(&ringshot_uring::Counters) -> u64| threads.iter().map(|thread| of(&thread.outcome.counters)).sum();
    Tool {
        cpu_ns,
        cpu_per_request_ns: (completed > 0).then(|| cpu_ns as f64 / completed as f64),
        near_limit: uses.iter().any(|thread| thread.busy_percent >= NEAR_LIMIT_PERCENT),
        threads: uses,
        engine: threads.first().map_or_else(String::new, |thread| thread.setup.clone()),
        enters: sum(|counters| counters.enters),
        stale_completions: record.stale_completions,
        no_buffers: sum(|counters| counters.no_buffers),
        cq_overflows: sum(|counters| counters.cq_overflows),
    }
}

fn thread_use(thread: &Finished) -> ThreadUse {
    let idle_spin_ns = thread.outcome.idle_spin_ns.min(thread.cpu_ns);
    ThreadUse {
        cpu: thread.cpu,
        cpu_ns: thread.cpu_ns,
        idle_spin_ns,
        wall_ns: thread.wall_ns,
        busy_percent: (thread.cpu_ns - idle_spin_ns) as f64 * 100.0 / thread.wall_ns.max(1) as f64,
    }
}
