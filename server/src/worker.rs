//! One thread a worker, pinned, with listeners of its own. Workers share nothing that is written to but the stop flag.

use std::net::TcpListener;
use std::sync::Arc;

use ringshot_host::affinity;
use ringshot_host::clock;
use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;

use crate::app::App;
use crate::config::Config;
use crate::conn::Moment;
use crate::date::DateCell;
use crate::engine::{self, EngineError, Kind};
use crate::notice;
use crate::session::Context;
use crate::tally::Tally;

/// What an engine is given.
pub struct Worker {
    /// 0 to `config.workers - 1`.
    pub index: usize,
    /// The CPU that the thread is pinned to; `None` when it could not be pinned.
    pub cpu: Option<usize>,
    /// One for each address, non-blocking.
    pub listeners: Vec<TcpListener>,
    /// Settings in force.
    pub config: Arc<Config>,
    /// Routes and answers; only read.
    pub app: Arc<App>,
    /// Asks the worker to drain and end.
    pub stop: Stop,
    /// Becomes readable when the worker should look at `stop`.
    pub waker: Waker,
}

/// What an engine keeps beside its own things, the same for every engine.
pub struct Local {
    /// Settings in force.
    pub config: Arc<Config>,
    /// Routes and answers.
    pub app: Arc<App>,
    /// CLOCK_MONOTONIC at the start of this batch.
    pub now_ns: u64,
    /// The server is stopping.
    pub draining: bool,
    /// What was counted.
    pub tally: Tally,
    cpu: Option<usize>,
    date: DateCell,
}

impl Local {
    /// What `worker` starts with.
    #[must_use]
    pub fn new(worker: &Worker) -> Self {
        Self {
            config: Arc::clone(&worker.config),
            app: Arc::clone(&worker.app),
            now_ns: clock::monotonic_ns(),
            draining: false,
            tally: Tally::default(),
            cpu: worker.cpu,
            date: DateCell::new(clock::unix_secs()),
        }
    }

    /// Reads the clocks. Called once a batch, after the wait: what follows happens at this time.
    #[inline]
    pub fn look_at_clocks(&mut self) {
        self.now_ns = clock::monotonic_ns();
        self.date.at(clock::unix_secs());
    }

    /// The surroundings of an event of this batch.
    #[inline]
    pub fn moment(&mut self) -> Moment<'_> {
        Moment {
            ctx: Context { app: &self.app, date: self.date.text(), tally: &mut self.tally, draining: self.draining },
            now_ns: self.now_ns,
            limits: &self.config.limits,
        }
    }

    /// Counts an accepted connection, of which `open` are now, and whether its packets arrive on this worker's CPU.
    pub fn count_accepted(&mut self, fd: std::os::fd::BorrowedFd<'_>, open: usize) {
        let tally = &mut self.tally;
        tally.connections.accepted += 1;
        tally.peak_connections = tally.peak_connections.max(open as u64);
        let arrives_on = ringshot_host::sockopt::incoming_cpu(fd).ok();
        if self.cpu.is_some() && arrives_on.map(|cpu| cpu as usize) == self.cpu {
            tally.connections.on_own_cpu += 1;
        }
    }
}

/// The body of a worker's thread. A worker that fails stops the others: a server with a part of its workers would answer
/// some connections and let others hang.
pub(crate) fn run(kind: Kind, mut worker: Worker) -> Result<Tally, EngineError> {
    let cpu = worker.config.cpu_of(worker.index);
    match affinity::pin_thread(cpu) {
        Ok(()) => worker.cpu = Some(cpu),
        Err(error) => notice::say(format_args!("worker {} serves unpinned: CPU {cpu}: {error}", worker.index)),
    }
    let stop = worker.stop.clone();
    let result = engine::run(kind, worker);
    if result.is_err() {
        stop.request();
    }
    let mut tally = result?;
    tally.cpu_ns = clock::thread_cpu_ns();
    Ok(tally)
}
