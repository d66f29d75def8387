//! The shape of a report: what `schema/report.schema.json` describes.

use ringshot_host::facts::Facts;
use ringshot_stats::Histogram;
use serde::Serialize;

use crate::config::WaitPolicy;
use crate::record::{Class, ConnectionCounts};
use crate::warn::Warning;

/// Counts changes of the report's shape that a reader must know of.
pub const SCHEMA_VERSION: u32 = 1;
/// Part of the CPU's time from which on a thread is called near its limit.
pub const NEAR_LIMIT_PERCENT: f64 = 90.0;
/// The clock of all times in a report.
pub const CLOCK: &str = "CLOCK_MONOTONIC, ns; one reading right before the call that hands a batch of requests to the \
    kernel, one per batch of completions";
/// Bounds of the window.
pub const WINDOW: &str =
    "from the first byte of the first request handed to the kernel to the last byte of the last response";
/// What is measured.
pub const MEASURED: &str = "closed loop, service time: first byte of a request handed to the kernel to last byte of its \
    response; connecting is apart; nothing is corrected";
/// What is left out of the latency.
pub const EXCLUDED: &str = "requests without a complete response; their ages are in unanswered_age";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As planned.
    Complete,
    /// Stopped from outside; the report covers what was done.
    Interrupted,
    /// The tool gave up because nothing succeeded any more.
    GaveUp,
}

/// The settings that were in force.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// URL without its fragment.
    pub url: String,
    /// Address that connections were made to.
    pub address: String,
    /// How many addresses the name had.
    pub addresses_found: usize,
    /// Connections.
    pub connections: u32,
    /// Threads.
    pub threads: u32,
    /// Length asked for, or null.
    pub duration_ns: Option<u64>,
    /// Requests asked for, or null.
    pub requests: Option<u64>,
    /// Requests in flight on each connection.
    pub pipeline: u32,
    /// Method.
    pub method: String,
    /// Length of one request, head and body.
    pub request_bytes: usize,
    /// Length of the request body.
    pub body_bytes: usize,
    /// Timeout of a request, and of connecting.
    pub timeout_ns: u64,
    /// Whether connections carried several requests.
    pub keep_alive: bool,
    /// CPUs to pin to, or null.
    pub cpus: Option<String>,
    /// Wait policy.
    pub wait: WaitPolicy,
}

/// Where all the requests went. `planned` = `started` + `never_started`, and `started` = `completed` + `failed` + `cancelled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Asked for with -n, or null.
    pub planned: Option<u64>,
    /// Left the plan.
    pub started: u64,
    /// Answered in full.
    pub completed: u64,
    /// Ended without an answer.
    pub failed: u64,
    /// In flight when the run ended.
    pub cancelled: u64,
    /// Planned and not started, or null.
    pub never_started: Option<u64>,
    /// Whether the sums above balance, checked by adding them up.
    pub balanced: bool,
}

/// A class and how many requests ended in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// Class.
    pub class: Class,
    /// Requests.
    pub count: u64,
}

/// A status and how often it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StatusCount {
    /// Status.
    pub status: u16,
    /// Responses.
    pub count: u64,
}

/// Why requests of a class were not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// Class.
    pub class: Class,
    /// Reason in words.
    pub reason: String,
    /// Requests.
    pub count: u64,
}

/// Speeds over the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Completed requests per second, whatever their status.
    pub requests_per_s: f64,
    /// Those with 2xx or 3xx.
    pub ok_per_s: f64,
    /// Bytes received per second.
    pub received_bytes_per_s: f64,
}

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Received: heads, bodies and framing.
    pub received_bytes: u64,
    /// Of them, decoded bodies.
    pub body_bytes: u64,
    /// Sent.
    pub sent_bytes: u64,
    /// Interim responses (1xx) skipped.
    pub interim_responses: u64,
}

/// A distribution of times, ns. Values are exact to 3 digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub sd_ns: f64,
    /// Least.
    pub min_ns: u64,
    /// Most.
    pub max_ns: u64,
    /// Values at quantiles, ascending.
    pub quantiles: Vec<Quantile>,
}

/// Value at a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// From 0 to 1.
    pub q: f64,
    /// The value that this part of the samples does not exceed.
    pub ns: u64,
}

/// The quantiles of a report.
pub const QUANTILES: [f64; 9] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

impl Distribution {
    /// Of a histogram; `None` without samples, because 0 would be a lie.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            count: histogram.len(),
            mean_ns: histogram.mean(),
            sd_ns: histogram.stdev(),
            min_ns: histogram.min(),
            max_ns: histogram.max(),
            quantiles: QUANTILES.map(|q| Quantile { q, ns: histogram.quantile(q) }).to_vec(),
        })
    }

    /// The value at one of [`QUANTILES`]; the maximum for any other.
    #[must_use]
    pub fn at(&self, q: f64) -> u64 {
        self.quantiles.iter().find(|quantile| quantile.q >= q).map_or(self.max_ns, |quantile| quantile.ns)
    }
}

/// Connections, and how evenly they were served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Asked for.
    pub requested: u32,
    /// What happened to them.
    #[serde(flatten)]
    pub counts: ConnectionCounts,
    /// Fewest responses of a connection, its successors included.
    pub answered_min: u64,
    /// Median.
    pub answered_median: u64,
    /// Most.
    pub answered_max: u64,
    /// Connections without any response.
    pub starved: u64,
}

/// Requests in flight: asked for, and by Little's law (rate times mean latency). Far below means that time went elsewhere:
/// connecting, pausing, or in this tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// Connections times pipeline.
    pub requested: u64,
    /// Rate times mean latency; null without samples.
    pub mean: Option<f64>,
}

/// What one thread of the tool used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ThreadUse {
    /// CPU pinned to, or null.
    pub cpu: Option<usize>,
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// Of it, spent in polls that found nothing (wait policies spin and adaptive).
    pub idle_spin_ns: u64,
    /// Time of its loop.
    pub wall_ns: u64,
    /// Part of a CPU's time that went into work.
    pub busy_percent: f64,
}

/// What the tool itself used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tool {
    /// CPU time of all threads, idle spinning left out.
    pub cpu_ns: u64,
    /// The same for each completed request; null when there is none.
    pub cpu_per_request_ns: Option<f64>,
    /// Whether a thread was near its limit: then the figures are the tool's, not the server's.
    pub near_limit: bool,
    /// Each thread.
    pub threads: Vec<ThreadUse>,
    /// What the kernel gave.
    pub engine: String,
    /// Calls of io_uring_enter(2).
    pub enters: u64,
    /// Completions of connections that had gone already.
    pub stale_completions: u64,
    /// Receives that had to wait for a buffer.
    pub no_buffers: u64,
    /// Overflows of the completion queue; the kernel kept them.
    pub cq_overflows: u64,
}

/// What a run amounts to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of this tool.
    pub tool_version: &'static str,
    /// How the run ended.
    pub ending: Ending,
    /// Settings.
    pub settings: Settings,
    /// [`CLOCK`].
    pub clock: &'static str,
    /// [`MEASURED`].
    pub measured: &'static str,
    /// [`EXCLUDED`].
    pub excluded: &'static str,
    /// [`WINDOW`].
    pub window: &'static str,
    /// Length of the window; null when no response came.
    pub window_ns: Option<u64>,
    /// Sums.
    pub requests: Requests,
    /// Requests by class.
    pub classes: Vec<ClassCount>,
    /// Responses by status.
    pub statuses: Vec<StatusCount>,
    /// Reasons within the classes that have some.
    pub reasons: Vec<ReasonCount>,
    /// Speeds; null when no response came.
    pub rate: Option<Rate>,
    /// Bytes.
    pub transfer: Transfer,
    /// Latency of all completed requests.
    pub latency: Option<Distribution>,
    /// Latency of those with 4xx or 5xx.
    pub latency_error: Option<Distribution>,
    /// Time to connect.
    pub connect: Option<Distribution>,
    /// Ages of requests that were sent and not answered.
    pub unanswered_age: Option<Distribution>,
    /// Connections.
    pub connections: Connections,
    /// Requests in flight.
    pub in_flight: InFlight,
    /// The tool itself.
    pub tool: Tool,
    /// The machine.
    pub machine: Facts,
    /// What a reader must know, with what to do.
    pub warnings: Vec<Warning>,
}
