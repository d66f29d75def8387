//! What the lab and the two ends say to each other: JSON, one message a line, orders on the end's stdin and answers on its stdout.
//! The end of the orders is the end of the work.

use std::net::SocketAddr;
use std::time::Duration;

use ringshot_host::affinity::CpuList;
use ringshot_server::config::{Steer, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer, or why there is none.
pub(super) type Answer<T> = Result<T, Refusal>;

/// Why an order can't be followed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) message: String,
    /// The code with which the program itself would have ended.
    pub(super) exit_code: u8,
}

/// To the server: one worker on each CPU, on a port of the kernel's choice.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ServeOrder {
    pub(super) cpus: CpuList,
    pub(super) steer: Steer,
    pub(super) wait: Wait,
}

/// From the server: connections are taken from now on.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listening {
    pub(super) addr: SocketAddr,
    pub(super) engine: String,
}

/// From the server after the end of its orders: what it did since it listens, the warm-up included.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Served {
    pub(super) accepted: u64,
    pub(super) on_own_cpu: u64,
    /// Everything that it counted.
    pub(super) summary: Value,
}

/// To the client: one run, with one thread on each CPU.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DriveOrder {
    pub(super) addr: SocketAddr,
    pub(super) connections: u32,
    pub(super) pipeline: u32,
    pub(super) cpus: CpuList,
    pub(super) wait: Wait,
    pub(super) length: Duration,
}

/// From the client: what came of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Driven {
    pub(super) completed: u64,
    pub(super) failed: u64,
    /// Answered, but with 4xx or 5xx.
    pub(super) refused: u64,
    /// In flight when the time was up.
    pub(super) cancelled: u64,
    /// Whether the sums of the client's report balance.
    pub(super) balanced: bool,
    pub(super) requests_per_s: Option<f64>,
    pub(super) latency: Option<Latency>,
    /// From the first request to the last response.
    pub(super) window_ns: Option<u64>,
    /// CPU time of the whole client process, from before it connects to after its threads have ended.
    pub(super) cpu_ns: u64,
    /// Engine, and what the kernel gave it.
    pub(super) engine: String,
    /// What the reader of the client's own report is told.
    pub(super) warnings: Vec<Warning>,
    /// The client's own report.
    pub(super) report: Value,
}

/// A warning of the client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Warning {
    pub(super) code: String,
    pub(super) text: String,
}

/// Service times in nanoseconds: first byte of a request handed to the kernel to last byte of its response.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90 of 100 were no longer than this.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}
