//! Resolved settings of a run. All that can be wrong with them is found by [`Config::check`], before anything is opened.

use std::time::Duration;

use ringshot_host::affinity::{CpuList, default_workers};
use serde::Serialize;

use crate::target::{Target, UrlError};

/// Most connections of one run: what the ports of one address pair and the slots of a ring can hold.
pub const CONNECTIONS_MAX: u32 = 1_000_000;
/// Most threads of one run.
pub const THREADS_MAX: u32 = 1024;
/// Most requests in flight on one connection.
pub const PIPELINE_MAX: u32 = 1024;
/// Longest request body in bytes. It is rendered once, and copied into the send buffer of each connection.
pub const BODY_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Longest run.
pub const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Shortest and longest time that a request may take.
pub const TIMEOUT_RANGE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3600));

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this many requests, exactly.
    Requests(u64),
    /// After this long.
    Duration(Duration),
}

/// What a thread does while no response is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitPolicy {
    /// Sleep in the kernel: the processor is free for the server.
    Block,
    /// Ask again and again: no wake-up in the latency, one processor per thread used up.
    Spin,
    /// Spin for [`ADAPTIVE_SPIN`] after the last response, then sleep.
    Adaptive,
}

/// How long [`WaitPolicy::Adaptive`] spins before it sleeps: about what a wake-up from sleep costs.
pub const ADAPTIVE_SPIN: Duration = Duration::from_micros(50);

/// Settings of a run. [`Config::new`] has the defaults; the fields can be changed before [`crate::run()`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Where requests go.
    pub target: Target,
    /// Connections, opened exactly.
    pub connections: u32,
    /// Threads; `None` takes one for each CPU of `cpus`, or for each CPU that may be used, but no more than connections.
    pub threads: Option<u32>,
    /// When the run ends.
    pub limit: Limit,
    /// Most requests in flight on each connection; it is filled up again when half of them are answered.
    pub pipeline: u32,
    /// Request method; `None` is GET, or POST with a body.
    pub method: Option<String>,
    /// Further header fields, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Request body.
    pub body: Option<Vec<u8>>,
    /// How long a request may take, and how long connecting may.
    pub timeout: Duration,
    /// Whether connections are used for more than one request.
    pub keep_alive: bool,
    /// CPUs to pin to: thread i to the i-th. `None` pins nothing.
    pub cpus: Option<CpuList>,
    /// What a thread does while no response is there.
    pub wait: WaitPolicy,
    /// Whether to show progress on stderr.
    pub progress: bool,
}

/// Why a run can't begin with these settings. The messages name the options of the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The URL is not one.
    #[error("{0}")]
    Url(#[from] UrlError),
    /// A number lies outside its bounds.
    #[error("{option} {value} is out of bounds: {min} to {max}")]
    Bounds {
        /// The option.
        option: &'static str,
        /// What was asked for.
        value: String,
        /// Least.
        min: String,
        /// Most.
        max: String,
    },
    /// Fewer requests than connections.
    #[error("-n {requests} is fewer than -c {connections}: each connection needs a request; lower -c")]
    FewRequests {
        /// Requests asked for.
        requests: u64,
        /// Connections asked for.
        connections: u32,
    },
    /// More threads than connections.
    #[error("-t {threads} is more than -c {connections}: each thread needs a connection; lower -t or raise -c")]
    ManyThreads {
        /// Threads asked for.
        threads: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// One request per connection and several in flight exclude each other.
    #[error("--no-keepalive sends one request per connection, -p {0} several; leave one of them out")]
    PipelineWithoutKeepAlive(u32),
    /// A field that the tool itself must write.
    #[error("header field `{name}` is written by the tool itself; {instead}")]
    OwnField {
        /// The field's name.
        name: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// The method is no token, or changes what the connection is.
    #[error("`{0}` can't be used as a method: a token is needed (RFC 9110 section 5.6.2), and CONNECT would end HTTP")]
    Method(String),
}

impl Config {
    /// The defaults: 64 connections, 10 s, one request in flight on each, 5 s timeout, keep-alive.
    ///
    /// # Errors
    /// When `url` can't be requested.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        Ok(Self {
            target: url.parse()?,
            connections: 64,
            threads: None,
            limit: Limit::Duration(Duration::from_secs(10)),
            pipeline: 1,
            method: None,
            headers: Vec::new(),
            body: None,
            timeout: Duration::from_secs(5),
            keep_alive: true,
            cpus: None,
            wait: WaitPolicy::Block,
            progress: false,
        })
    }

    /// Finds whatever is wrong with the settings.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), ConfigError> {
        bounds("-c", self.connections, 1, CONNECTIONS_MAX)?;
        bounds("-t", self.threads(), 1, THREADS_MAX)?;
        bounds("-p", self.pipeline, 1, PIPELINE_MAX)?;
        bounds("body length", self.body.as_ref().map_or(0, Vec::len), 0, BODY_MAX_BYTES)?;
        duration_bounds("--timeout", self.timeout, TIMEOUT_RANGE.0, TIMEOUT_RANGE.1)?;
        match self.limit {
            Limit::Duration(length) => duration_bounds("-d", length, Duration::from_millis(1), DURATION_MAX)?,
            Limit::Requests(requests) if requests < u64::from(self.connections) => {
                return Err(ConfigError::FewRequests { requests, connections: self.connections });
            }
            Limit::Requests(_) => {}
        }
        if self.threads() > self.connections {
            return Err(ConfigError::ManyThreads { threads: self.threads(), connections: self.connections });
        }
        if !self.keep_alive && self.pipeline > 1 {
            return Err(ConfigError::PipelineWithoutKeepAlive(self.pipeline));
        }
        if !is_token(self.method()) || self.method() == "CONNECT" {
            return Err(ConfigError::Method(self.method().to_owned()));
        }
        self.headers.iter().try_for_each(|(name, _)| own_field(name))
    }

    /// The threads in force.
    #[must_use]
    pub fn threads(&self) -> u32 {
        let cpus = || self.cpus.as_ref().map_or_else(default_workers, |list| list.0.len());
        self.threads.unwrap_or_else(|| u32::try_from(cpus()).unwrap_or(THREADS_MAX).clamp(1, self.connections.max(1)))
    }

    /// The method in force.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }

    /// Connections of thread number `thread`: they differ by one at most.
    #[must_use]
    pub fn connections_of(&self, thread: u32) -> u32 {
        share(u64::from(self.connections), u64::from(self.threads()), u64::from(thread)) as u32
    }

    /// Requests of thread number `thread`: as many as its connections would have if each had the same number, give or
    /// take one. `None` when the run is limited by time.
    #[must_use]
    pub fn requests_of(&self, thread: u32) -> Option<u64> {
        let Limit::Requests(requests) = self.limit else { return None };
        let first: u64 = (0..thread).map(|before| u64::from(self.connections_of(before))).sum();
        let mine = first..first + u64::from(self.connections_of(thread));
        Some(mine.map(|connection| share(requests, u64::from(self.connections), connection)).sum())
    }
}

/// Part number `nth` of `total` split into `parts` that differ by one at most; the first ones are the larger ones.
fn share(total: u64, parts: u64, nth: u64) -> u64 {
    total / parts + u64::from(nth < total % parts)
}

fn bounds<N: PartialOrd + std::fmt::Display>(
    option: &'static str,
    value: N,
    min: N,
    max: N,
) -> Result<(), ConfigError> {
    if value >= min && value <= max {
        return Ok(());
    }
    Err(ConfigError::Bounds { option, value: value.to_string(), min: min.to_string(), max: max.to_string() })
}

fn duration_bounds(option: &'static str, value: Duration, min: Duration, max: Duration) -> Result<(), ConfigError> {
    if value >= min && value <= max {
        return Ok(());
    }
    let text = |length: Duration| format!("{length:?}");
    Err(ConfigError::Bounds { option, value: text(value), min: text(min), max: text(max) })
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

/// Fields that decide where a message ends are the encoder's alone: two voices on that are how requests are smuggled.
fn own_field(name: &str) -> Result<(), ConfigError> {
    let instead = match name.to_ascii_lowercase().as_str() {
        "connection" | "keep-alive" => "leave it out, or use --no-keepalive",
        "content-length" | "transfer-encoding" => "give the body with --body or --body-file",
        "expect" => "responses are read without waiting for 100 Continue; leave it out",
        "upgrade" => "the connection must stay HTTP; leave it out",
        _ => return Ok(()),
    };
    Err(ConfigError::OwnField { name: name.to_owned(), instead })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config::new("http://127.0.0.1:1/").expect("valid");
        config.threads = Some(1);
        change(&mut config);
        config
    }

    #[test]
    fn defaults_pass() {
        assert_eq!(config(|_| ()).check(), Ok(()));
    }

    #[test]
    fn remainders_are_spread_and_nothing_is_lost() {
        for (connections, threads, requests) in [(200, 12, 100_000), (7, 3, 7), (64, 1, 65), (5, 5, 9_999), (1, 1, 1)] {
            let config = config(|config| {
                (config.connections, config.threads) = (connections, Some(threads));
                config.limit = Limit::Requests(requests);
            });
            assert_eq!(config.check(), Ok(()));
            let conns: Vec<u32> = (0..threads).map(|thread| config.connections_of(thread)).collect();
            let quotas: Vec<u64> = (0..threads).filter_map(|thread| config.requests_of(thread)).collect();
            assert_eq!(conns.iter().sum::<u32>(), connections);
            assert_eq!(quotas.iter().sum::<u64>(), requests);
            assert!(conns.iter().max().zip(conns.iter().min()).is_some_and(|(most, least)| most - least <= 1));
            assert!(
                conns.iter().zip(&quotas).all(|(conns, quota)| u64::from(*conns) <= *quota),
                "{conns:?} {quotas:?}"
            );
        }
    }

    #[test]
    fn faults_are_named() {
        let cases: [(Config, &str); 13] = [
            (config(|c| c.connections = 0), "-c 0 is out of bounds"),
            (config(|c| c.threads = Some(0)), "-t 0 is out of bounds"),
            (config(|c| c.pipeline = 0), "-p 0 is out of bounds"),
            (config(|c| c.pipeline = PIPELINE_MAX + 1), "-p 1025 is out of bounds"),
            (config(|c| c.timeout = Duration::from_millis(1)), "--timeout 1ms is out of bounds"),
            (config(|c| c.limit = Limit::Duration(Duration::ZERO)), "-d 0ns is out of bounds"),
            (config(|c| c.limit = Limit::Requests(63)), "-n 63 is fewer than -c 64"),
            (config(|c| c.threads = Some(65)), "-t 65 is more than -c 64"),
            (config(|c| (c.keep_alive, c.pipeline) = (false, 2)), "--no-keepalive"),
            (config(|c| c.method = Some("CONNECT".to_owned())), "`CONNECT`"),
            (config(|c| c.method = Some("A B".to_owned())), "`A B`"),
            (config(|c| c.headers = vec![("Content-length".to_owned(), b"1".to_vec())]), "--body"),
            (config(|c| c.headers = vec![("Connection".to_owned(), b"close".to_vec())]), "--no-keepalive"),
        ];
        for (config, words) in cases {
            let message = config.check().expect_err(words).to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
