//! One thread: pinned before anything else, then set up, then started together with the others.

use std::net::SocketAddr;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_host::{affinity, clock};
use ringshot_http1::{Limits, Method};
use ringshot_stats::Counter;

use crate::ClientError;
use crate::config::WaitPolicy;
use crate::engine::{self, Kind, Outcome};

/// What all threads do, the same for each.
#[derive(Debug)]
pub struct Job {
    /// Where connections go.
    pub addr: SocketAddr,
    /// One request, rendered.
    pub request: Vec<u8>,
    /// Its method, which decides whether responses have a body.
    pub method: Method,
    /// Bounds of a response.
    pub limits: Limits,
    /// Most requests in flight on one connection.
    pub pipeline: u32,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// How long a request may take.
    pub timeout: Duration,
    /// How long the run lasts, unless it is limited by requests.
    pub length: Option<Duration>,
    /// What a thread does while nothing is there.
    pub wait: WaitPolicy,
}

/// What one thread does.
pub struct Worker {
    /// The common part.
    pub job: Arc<Job>,
    /// Its connections.
    pub connections: u32,
    /// Its requests, in a run that is limited by them.
    pub requests: Option<u64>,
    /// Where it counts responses for whoever watches.
    pub live: Arc<Counter>,
    /// The request to end early.
    pub stop: Stop,
    /// What wakes it for that.
    pub waker: Waker,
}

/// What a thread hands back.
pub struct Finished {
    /// What the engine saw.
    pub outcome: Outcome,
    /// CPU that it was pinned to.
    pub cpu: Option<usize>,
    /// From the start to the end of the loop, ns.
    pub wall_ns: u64,
    /// CPU time of the loop, ns: what the thread itself used, user and system.
    pub cpu_ns: u64,
    /// What the kernel gave.
    pub setup: String,
}

/// Runs a worker on the calling thread.
///
/// The pin comes first: memory is then taken near its CPU, and on loopback the connections made from it are delivered on
/// it, so a server that steers by CPU serves them there.
///
/// # Errors
/// When the CPU is refused or the ring is. Even then the others are not kept waiting at the barrier.
pub fn run(worker: Worker, cpu: Option<usize>, start: &Barrier) -> Result<Finished, ClientError> {
    let pinned = cpu.map_or(Ok(()), |cpu| affinity::pin_thread(cpu).map_err(|error| ClientError::Pin { cpu, error }));
    let ready = pinned.and_then(|()| engine::prepare(Kind::default(), worker).map_err(ClientError::from));
    start.wait();
    let ready = ready?;
    let setup = ready.setup();
    let (wall_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let outcome = ready.run()?;
    Ok(Finished {
        outcome,
        cpu,
        wall_ns: clock::monotonic_ns() - wall_ns,
        cpu_ns: clock::thread_cpu_ns() - cpu_ns,
        setup,
    })
}
