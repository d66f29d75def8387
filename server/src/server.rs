//! A server from bind to summary.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use ringshot_host::limits::raise_nofile;
use ringshot_host::listen::{ListenError, ListenSpec, Steer, bind_group};
use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use serde::Serialize;

use crate::app::App;
use crate::config::{self, Config, ConfigError};
use crate::engine::{self, EngineError, Kind};
use crate::notice;
use crate::tally::Tally;
use crate::worker::{self, Worker};

/// Connections that the kernel keeps for one listener until they are accepted; cut by net.core.somaxconn.
pub(crate) const BACKLOG: u32 = 4096;

/// Why a server can't start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The settings can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address can't be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A worker can't start or go on.
    #[error("worker {worker}: {source}")]
    Engine {
        /// Which.
        worker: usize,
        /// Why.
        source: EngineError,
    },
    /// The ring was asked for and is refused.
    #[error("{0}; --engine epoll serves without it")]
    Ring(#[from] ringshot_uring::RingError),
    /// The machine has run out of something.
    #[error("{what}: {source}")]
    System {
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl ServerError {
    /// The exit code of the program, as the crate's front page lists them.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(ConfigError::Machine(_)) => 7,
            Self::Config(_) => 2,
            Self::Listen(ListenError::InUse { .. }) => 3,
            Self::Listen(ListenError::Permission { .. }) => 4,
            Self::Ring(_) | Self::Engine { source: EngineError::Ring(_), .. } => 5,
            Self::Listen(ListenError::TooManyFiles { .. }) => 7,
            Self::Listen(_) => 6,
            Self::Engine { .. } | Self::System { .. } => 7,
        }
    }
}

/// What one worker did.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerSummary {
    /// 0 and up.
    pub index: usize,
    /// The CPU that it was to be pinned to.
    pub cpu: usize,
    /// What it counted.
    pub tally: Tally,
}

/// What a server did from bind to end.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Which engine served.
    pub engine: Kind,
    /// All workers added up.
    pub total: Tally,
    /// Each worker.
    pub workers: Vec<WorkerSummary>,
}

/// A server whose listeners are open. Connections are queued by the kernel from now on and served by [`Server::serve`].
pub struct Server {
    config: Arc<Config>,
    app: Arc<App>,
    kind: Kind,
    addresses: Vec<SocketAddr>,
    /// By worker, then by address.
    listeners: Vec<Vec<TcpListener>>,
}

impl Server {
    /// Renders the answers, chooses the engine and opens the listeners.
    ///
    /// # Errors
    /// A header of a route that can't be sent, a ring that is refused, an address that can't be listened on.
    pub fn bind(config: Config) -> Result<Self, ServerError> {
        let app = Arc::new(App::new(&config)?);
        let (kind, refused) = engine::choose(&config)?;
        if let Some(why) = refused {
            notice::say(format_args!("serving with epoll: {why}"));
        }
        // A lower limit is met by the gate of each worker, which pauses and says so.
        let _ = raise_nofile();
        let cpus: Vec<usize> = (0..config.workers).map(|worker| config.cpu_of(worker)).collect();
        let mut listeners: Vec<Vec<TcpListener>> = (0..config.workers).map(|_| Vec::new()).collect();
        let mut addresses = Vec::with_capacity(config.listen.len());
        for addr in &config.listen {
            let group = bind_group(&spec(*addr, config.steer), config.workers, &cpus)?;
            addresses.extend(group.first().and_then(|listener| listener.local_addr().ok()));
            for (worker, listener) in group.into_iter().enumerate() {
                listeners[worker].push(listener);
            }
        }
        Ok(Self { config: Arc::new(config), app, kind, addresses, listeners })
    }

    /// The addresses that are listened on, in the order of the settings; with the ports that the kernel picked.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Which engine will serve.
    #[must_use]
    pub fn engine(&self) -> Kind {
        self.kind
    }

    /// Serves until `stop` is requested and what was in flight is done. Returns when all workers have ended.
    ///
    /// # Errors
    /// The first worker that could not start or go on; the others are stopped.
    pub fn serve(self, stop: &Stop) -> Result<Summary, ServerError> {
        let mut threads = Vec::with_capacity(self.config.workers);
        for (index, listeners) in self.listeners.into_iter().enumerate() {
            let waker = Waker::new().map_err(system("cannot make an eventfd"))?;
            stop.register(waker.clone());
            let worker = Worker {
                index,
                cpu: None,
                listeners,
                config: Arc::clone(&self.config),
                app: Arc::clone(&self.app),
                stop: stop.clone(),
                waker,
            };
            let kind = self.kind;
            let thread =
                thread::Builder::new().name(format!("worker-{index}")).spawn(move || worker::run(kind, worker));
            if thread.is_err() {
                stop.request();
            }
            threads.push(thread.map_err(system("cannot start a worker thread"))?);
        }
        let mut total = Tally::default();
        let mut workers = Vec::with_capacity(threads.len());
        let mut failed = None;
        for (index, thread) in threads.into_iter().enumerate() {
            match thread.join() {
                Ok(Ok(tally)) => {
                    total.absorb(&tally);
                    workers.push(WorkerSummary { index, cpu: self.config.cpu_of(index), tally });
                }
                Ok(Err(source)) => {
                    failed.get_or_insert(ServerError::Engine { worker: index, source });
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Summary { engine: self.kind, total, workers }),
        }
    }
}

/// Binds and serves.
///
/// # Errors
/// As [`Server::bind`] and [`Server::serve`].
pub fn run(config: Config, stop: &Stop) -> Result<Summary, ServerError> {
    Server::bind(config)?.serve(stop)
}

fn spec(addr: SocketAddr, steer: config::Steer) -> ListenSpec {
    let steer = match steer {
        config::Steer::Hash => Steer::Hash,
        config::Steer::Cpu => Steer::Cpu,
    };
    ListenSpec { addr, backlog: BACKLOG, steer }
}

fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> ServerError {
    move |source| ServerError::System { what, source }
}
