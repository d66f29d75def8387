//! Settings: as given by flags and file ([`Options`]), and as resolved, cross-checked and printed ([`Config`]).

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ringshot_host::affinity::CpuList;
use ringshot_http1::encode::EncodeError;
use serde::{Deserialize, Serialize};

use crate::limits::{LimitOptions, Limits, RingLimits, RingOptions};
use crate::routes::{Route, RouteOptions};

/// Workers that one server may have.
pub const MAX_WORKERS: usize = 1024;

/// How new connections are spread over the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Steer {
    /// By the kernel's hash of addresses and ports: even over many connections, whatever CPU they arrive on
    #[default]
    Hash,
    /// To the worker of the CPU that the connection arrives on; needs one worker on each CPU that packets arrive on
    Cpu,
}

/// What a worker does while nothing is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Sleep: costs a wake-up per batch, leaves the CPU to others
    #[default]
    Block,
    /// Never sleep: the lowest latency, a whole CPU a worker
    Spin,
    /// Spin for a short while after the last event, then sleep
    Adaptive,
}

/// Which engine serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// io_uring where it works, else epoll and one line that says why
    #[default]
    Auto,
    /// io_uring or nothing
    Uring,
    /// epoll
    Epoll,
    /// The tokio-uring crate, for comparison; docs/engines.md
    #[cfg(feature = "tokio-uring")]
    TokioUring,
}

/// Everything that flags and the config file have in common. The keys of the file are these names; limits stand in a table
/// `[limits]`, sizes of the ring in `[ring]`, routes in `[[route]]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Address and port to listen on; may be given several times. Port 0 lets the kernel pick one
    /// [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Worker threads [default: one for each CPU that this process may use, within its CPU quota]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// CPUs to pin the workers to in turn, such as 0-3,6 [default: all that are allowed]
    #[arg(long, value_name = "LIST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// How new connections are spread over the workers [default: hash]
    #[arg(long, value_enum, value_name = "HOW")]
    pub steer: Option<Steer>,
    /// What an idle worker does [default: block]
    #[arg(long, value_enum, value_name = "HOW")]
    pub wait: Option<Wait>,
    /// Which engine serves [default: auto]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<EngineChoice>,
    /// Bounds.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Sizes of the ring engine.
    #[command(flatten)]
    pub ring: RingOptions,
    /// Routes; only the file has them.
    #[arg(skip)]
    pub route: Vec<RouteOptions>,
}

/// What the machine offers; a parameter, so that resolving does not depend on where it runs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// CPUs that this process may use.
    pub allowed_cpus: CpuList,
    /// Workers that make sense: allowed CPUs, within the CPU quota.
    pub workers: usize,
}

impl Machine {
    /// Asks this machine.
    ///
    /// # Errors
    /// When the affinity of the process can't be read.
    pub fn read() -> std::io::Result<Self> {
        let allowed_cpus = ringshot_host::affinity::allowed_cpus()?;
        Ok(Self { allowed_cpus, workers: ringshot_host::affinity::default_workers() })
    }
}

/// Settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// At least one, no two alike unless the port is 0.
    pub listen: Vec<SocketAddr>,
    /// 1 to [`MAX_WORKERS`].
    pub workers: usize,
    /// The CPU of worker `i` is `cpus[i % cpus.len()]`; not empty.
    pub cpus: Vec<usize>,
    /// Spreading of connections.
    pub steer: Steer,
    /// Idle behaviour.
    pub wait: Wait,
    /// Engine.
    pub engine: EngineChoice,
    /// Bounds.
    pub limits: Limits,
    /// Sizes of the ring engine.
    pub ring: RingLimits,
    /// No two with the same path.
    pub routes: Vec<Route>,
}

/// Settings that can't be used. The operator's to repair; each says where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The config file can't be read.
    #[error("cannot read the config file {path}: {source}")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The config file is not what it should be.
    #[error("{path}: {message}")]
    Malformed {
        /// Its path.
        path: PathBuf,
        /// Line, column and what was expected, in one line.
        message: String,
    },
    /// A setting contradicts another or itself.
    #[error("{0}")]
    Invalid(String),
    /// A route can't be served.
    #[error("route {path}: {message}")]
    Route {
        /// Its path.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// An answer that belongs to no route can't be written.
    #[error("cannot render an answer: {0}")]
    Render(#[from] EncodeError),
    /// The machine can't be asked.
    #[error("cannot read the CPUs that this process may use: {0}")]
    Machine(#[source] std::io::Error),
}

impl Options {
    /// Reads a config file.
    ///
    /// # Errors
    /// When it can't be read or has a key that is not known.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|message| ConfigError::Malformed { path: path.to_owned(), message })
    }

    /// Parses the text of a config file; the error is one line.
    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text[..start].matches('\n').count() + 1;
            format!("line {line}: {}", error.message().replace('\n', " "))
        })
    }

    /// Takes each setting from here (flags), else from `file`.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        Self {
            listen: if self.listen.is_empty() { file.listen } else { self.listen },
            workers: self.workers.or(file.workers),
            cpus: self.cpus.or(file.cpus),
            steer: self.steer.or(file.steer),
            wait: self.wait.or(file.wait),
            engine: self.engine.or(file.engine),
            limits: self.limits.or(file.limits),
            ring: self.ring.or(file.ring),
            route: if self.route.is_empty() { file.route } else { self.route },
        }
    }

    /// The route of `path`, made when it isn't there.
    pub fn route_mut(&mut self, path: &str) -> &mut RouteOptions {
        let at = self.route.iter().position(|route| route.path == path).unwrap_or_else(|| {
            self.route.push(RouteOptions { path: path.to_owned(), ..RouteOptions::default() });
            self.route.len() - 1
        });
        &mut self.route[at]
    }

    /// Fills in defaults, reads body files, and checks everything against everything.
    ///
    /// # Errors
    /// The first setting that can't be used.
    pub fn resolve(mut self, machine: &Machine) -> Result<Config, ConfigError> {
        self.add_built_in_routes();
        let cpus = self.cpus.as_ref().unwrap_or(&machine.allowed_cpus).0.clone();
        let workers = match (self.workers, &self.cpus) {
            (Some(workers), _) => workers,
            (None, Some(_)) => cpus.len(),
            (None, None) => machine.workers,
        };
        if self.listen.is_empty() {
            self.listen.push(SocketAddr::from(([127, 0, 0, 1], 8080)));
        }
        let config = Config {
            listen: self.listen,
            workers,
            cpus,
            steer: self.steer.unwrap_or_default(),
            wait: self.wait.unwrap_or_default(),
            engine: self.engine.unwrap_or_default(),
            limits: self.limits.resolve(),
            ring: self.ring.resolve(),
            routes: self.route.into_iter().map(RouteOptions::resolve).collect::<Result<_, _>>()?,
        };
        config.check(machine)?;
        Ok(config)
    }

    fn add_built_in_routes(&mut self) {
        let root = self.route_mut("/");
        if !root.echo && root.body.is_none() && root.body_file.is_none() {
            root.body = Some("hello world".to_owned());
        }
        if self.route.iter().all(|route| route.path != "/echo") {
            self.route_mut("/echo").echo = true;
        }
    }
}

impl Config {
    fn check(&self, machine: &Machine) -> Result<(), ConfigError> {
        let invalid = |message: String| Err(ConfigError::Invalid(message));
        if !(1..=MAX_WORKERS).contains(&self.workers) {
            return invalid(format!("workers must be 1 to {MAX_WORKERS}, not {}", self.workers));
        }
        if let Some(cpu) = self.cpus.iter().find(|cpu| !machine.allowed_cpus.0.contains(cpu)) {
            return invalid(format!("CPU {cpu} is not among those allowed here ({})", machine.allowed_cpus));
        }
        if self.cpus.is_empty() {
            return invalid("the list of CPUs is empty".to_owned());
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.listen.iter().find(|addr| addr.port() != 0 && !seen.insert(**addr)) {
            return invalid(format!("{twice} is listened on twice"));
        }
        let mut paths = BTreeSet::new();
        if let Some(twice) = self.routes.iter().find(|route| !paths.insert(&route.path)) {
            return Err(ConfigError::Route { path: twice.path.clone(), message: "is defined twice".to_owned() });
        }
        self.check_limits()
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let rules = [
            (limits.max_connections as usize >= self.workers, "max_connections must be at least the number of workers"),
            (limits.max_head.0 >= 256, "max_head must be at least 256 bytes"),
            (limits.max_head.0 <= 16 << 20, "max_head must be at most 16MiB"),
            (limits.max_target.0 < limits.max_head.0, "max_target must be less than max_head"),
            (limits.max_fields >= 1, "max_fields must be at least 1"),
            (limits.max_body.0 <= 1 << 30, "max_body must be at most 1GiB: bodies to echo are kept in memory"),
            (limits.max_pipeline >= 1, "max_pipeline must be at least 1"),
            (limits.shortest_timeout_ns() >= 100_000_000, "a timeout must be at least 100ms"),
            (self.ring.ring_buffers.is_power_of_two(), "ring_buffers must be a power of two"),
            (self.ring.ring_buffer_size.0 >= 512, "ring_buffer_size must be at least 512 bytes"),
            (self.ring.ring_buffer_size.0 <= 1 << 20, "ring_buffer_size must be at most 1MiB"),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(ConfigError::Invalid(rule.to_owned())),
            None => Ok(()),
        }
    }

    /// The CPU of a worker.
    #[must_use]
    pub fn cpu_of(&self, worker: usize) -> usize {
        self.cpus[worker % self.cpus.len()]
    }

    /// Connections that one worker may have open.
    #[must_use]
    pub fn connections_per_worker(&self) -> usize {
        (self.limits.max_connections as usize).div_ceil(self.workers)
    }

    /// The settings as a config file that resolves to them.
    ///
    /// # Errors
    /// None that is known: every value has a form in TOML.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&self.options())
    }

    fn options(&self) -> Options {
        Options {
            listen: self.listen.clone(),
            workers: Some(self.workers),
            cpus: Some(CpuList(self.cpus.clone())),
            steer: Some(self.steer),
            wait: Some(self.wait),
            engine: Some(self.engine),
            limits: self.limits.clone().into(),
            ring: self.ring.clone().into(),
            route: self.routes.iter().map(Route::options).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine { allowed_cpus: "0-3".parse().expect("a list"), workers: 2 }
    }

    fn resolve(toml: &str) -> Result<Config, String> {
        let options = Options::parse(toml)?;
        options.resolve(&machine()).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults() {
        let config = resolve("").expect("usable");
        assert_eq!(config.listen, [SocketAddr::from(([127, 0, 0, 1], 8080))]);
        assert_eq!((config.workers, &config.cpus[..]), (2, &[0, 1, 2, 3][..]));
        assert_eq!(config.engine, EngineChoice::Auto);
        assert_eq!(config.limits.max_body.0, 1 << 20);
        let paths: Vec<_> = config.routes.iter().map(|route| (route.path.as_str(), &route.body[..])).collect();
        assert_eq!(paths, [("/", &b"hello world"[..]), ("/echo", b"")]);
    }

    #[test]
    fn workers_follow_the_list_of_cpus() {
        let config = resolve("cpus = '1-3'").expect("usable");
        assert_eq!((config.workers, config.cpu_of(0), config.cpu_of(2)), (3, 1, 3));
        let config = resolve("cpus = '1,3'\nworkers = 5").expect("usable");
        assert_eq!((0..5).map(|worker| config.cpu_of(worker)).collect::<Vec<_>>(), [1, 3, 1, 3, 1]);
        assert_eq!(config.connections_per_worker(), 65536_usize.div_ceil(5));
    }

    #[test]
    fn what_is_printed_resolves_to_the_same() {
        let files = [
            "",
            "listen = ['127.0.0.1:0', '[::1]:81']\nworkers = 1\ncpus = '2'\nsteer = 'cpu'\nwait = 'adaptive'\nengine = 'epoll'",
            "[limits]\nmax_head = 4096\nmax_target = '1k'\nidle_timeout = '250ms'\n[ring]\nring_buffers = 64",
            "[[route]]\npath = '/ok'\nbody = 'ok'\nmethods = ['GET', 'OPTIONS']\nstatus = 201\nheaders = ['X-A: b', 'X-A: c']",
            "[[route]]\npath = '/'\necho = true\n[[route]]\npath = '/empty'\nbody = ''\ncontent_type = ''\nstatus = 204",
            "[[route]]\npath = '/echo'\nbody = 'not an echo'\nheaders = ['content-type: text/html']",
        ];
        for file in files {
            let config = resolve(file).expect(file);
            let printed = config.to_toml().expect("printable");
            assert_eq!(resolve(&printed).expect(&printed), config, "{printed}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_in_one_line_that_says_where() {
        let cases = [
            ("listen = ['127.0.0.1']", "line 1"),
            ("workers = 1\nworker = 2", "line 2: unknown field `worker`"),
            ("[limits]\nmax_haed = 1", "unknown field `max_haed`"),
            ("[limits]\n\nmax_head = '1kb'", "line 3: expected a number of bytes"),
            ("[limits]\nidle_timeout = 5", "line 2"),
            ("[[route]]\npath = '/'\nstatic = true", "unknown field `static`"),
            ("cpus = 'x'", "line 1"),
            ("workers = 0", "workers must be 1 to 1024"),
            ("cpus = '2-5'", "CPU 4 is not among those allowed here (0-3)"),
            ("listen = ['127.0.0.1:1', '127.0.0.1:1']", "127.0.0.1:1 is listened on twice"),
            ("[limits]\nmax_connections = 1", "max_connections"),
            ("[limits]\nhead_timeout = '10ms'", "at least 100ms"),
            ("[limits]\nmax_target = '64k'", "max_target must be less than max_head"),
            ("[ring]\nring_buffers = 100", "power of two"),
            ("[[route]]\npath = 'x'", "route x: a path starts with /"),
            ("[[route]]\npath = '/a b'", "a path starts with /"),
            ("[[route]]\npath = '/a'\n[[route]]\npath = '/a'", "route /a: is defined twice"),
            ("[[route]]\npath = '/a'\nstatus = 100", "status must be"),
            ("[[route]]\npath = '/a'\nmethods = ['BREW']", "method BREW"),
            ("[[route]]\npath = '/a'\nmethods = ['TRACE']", "method TRACE"),
            ("[[route]]\npath = '/a'\nmethods = []", "methods is empty"),
            ("[[route]]\npath = '/a'\nheaders = ['nonsense']", "header 'nonsense'"),
            ("[[route]]\npath = '/a'\nbody = 'x'\nbody_file = 'y'", "exclude each other"),
            ("[[route]]\npath = '/a'\nbody_file = '/does/not/exist'", "cannot read /does/not/exist"),
            ("[[route]]\npath = '/a'\nbody = 'x'\nstatus = 204", "has no body"),
            ("[[route]]\npath = '/a'\necho = true\nstatus = 200", "an echo has no"),
        ];
        for (file, words) in cases {
            let message = resolve(file).expect_err(file);
            assert!(message.contains(words), "{file:?}: {message}");
            assert!(!message.contains('\n'), "one line: {message}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = Options { workers: Some(1), ..Options::default() };
        let file = Options::parse("workers = 2\nsteer = 'cpu'\n[limits]\nmax_pipeline = 7").expect("well-formed");
        let config = flags.or(file).resolve(&machine()).expect("usable");
        assert_eq!((config.workers, config.steer, config.limits.max_pipeline), (1, Steer::Cpu, 7));
    }
}
