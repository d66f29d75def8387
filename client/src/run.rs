//! A run: from settings to a report.

use std::net::SocketAddr;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use ringshot_host::limits;
use ringshot_host::stop::Stop;
use ringshot_host::wake::Waker;
use ringshot_http1::encode::{self, RequestSpec};
use ringshot_http1::{Limits, Method, Version};
use ringshot_stats::Counter;

use crate::config::{Config, Limit};
use crate::error::ClientError;
use crate::progress;
use crate::report::{Report, Settings};
use crate::worker::{self, Finished, Job, Worker};

/// Longest response body that is read to its end; a server that sends more is stopped as a protocol failure.
const RESPONSE_BODY_MAX: u64 = 1 << 40;
/// Descriptors of a thread beside its connections: ring, eventfd, and some for what the library opens.
const THREAD_DESCRIPTORS: u64 = 8;
/// Descriptors of the process beside those of its threads.
const PROCESS_DESCRIPTORS: u64 = 32;

/// Runs to the end, or until `stop` is requested, and reports.
///
/// # Errors
/// Only when the run could not take place. Whatever the server does is in the report.
pub fn run(config: Config, stop: Stop) -> Result<Report, ClientError> {
    config.check()?;
    let addresses = config.target.resolve();
    let addresses = addresses.map_err(|error| ClientError::Resolve { host: config.target.authority.clone(), error })?;
    allow_descriptors(&config)?;
    let job = Arc::new(job(&config, addresses[0])?);
    let settings = settings(&config, &addresses, &job);
    let live: Vec<Arc<Counter>> = (0..config.threads()).map(|_| Arc::new(Counter::default())).collect();
    let threads = start(&config, &job, &live, &stop)?;
    if config.progress {
        progress::show_until(&config, &live, || threads.iter().all(JoinHandle::is_finished));
    }
    let finished = join(threads)?;
    Ok(Report::new(&config, settings, stop.is_requested(), &finished))
}

/// Raises the soft limit as far as the hard one allows, and says so when that is not enough.
fn allow_descriptors(config: &Config) -> Result<(), ClientError> {
    let threads = u64::from(config.threads());
    let needed = u64::from(config.connections) + threads * THREAD_DESCRIPTORS + PROCESS_DESCRIPTORS;
    let allowed = limits::raise_nofile().map_err(ClientError::Thread)?;
    if allowed < needed { Err(ClientError::Descriptors { needed, allowed }) } else { Ok(()) }
}

fn job(config: &Config, addr: SocketAddr) -> Result<Job, ClientError> {
    Ok(Job {
        addr,
        request: request(config)?,
        method: method(config.method()),
        limits: Limits::DEFAULT.with_body(RESPONSE_BODY_MAX),
        pipeline: config.pipeline,
        keep_alive: config.keep_alive,
        timeout: config.timeout,
        length: match config.limit {
            Limit::Duration(length) => Some(length),
            Limit::Requests(_) => None,
        },
        wait: config.wait,
    })
}

/// The bytes of one request. A Host field among the settings takes the place of the URL's.
fn request(config: &Config) -> Result<Vec<u8>, ClientError> {
    let (hosts, fields): (Vec<_>, Vec<_>) = config
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_slice()))
        .partition(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.last().map_or(config.target.authority.as_bytes(), |(_, value)| *value);
    let mut out = Vec::new();
    let spec = RequestSpec {
        method: config.method(),
        target: &config.target.path,
        host: &String::from_utf8_lossy(host),
        version: Version::Http11,
        fields: &fields,
        body: config.body.as_deref(),
        keep_alive: config.keep_alive,
    };
    encode::request(&mut out, &spec).map_err(ClientError::Request)?;
    Ok(out)
}

/// What the method means for the response: only HEAD changes where it ends.
fn method(name: &str) -> Method {
    [
        Method::Get,
        Method::Head,
        Method::Post,
        Method::Put,
        Method::Delete,
        Method::Options,
        Method::Patch,
        Method::Trace,
    ]
    .into_iter()
    .find(|method| method.as_str() == name)
    .unwrap_or(Method::Other)
}

fn settings(config: &Config, addresses: &[SocketAddr], job: &Job) -> Settings {
    let nanos = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Settings {
        url: config.target.to_string(),
        address: addresses[0].to_string(),
        addresses_found: addresses.len(),
        connections: config.connections,
        threads: config.threads(),
        duration_ns: job.length.map(nanos),
        requests: match config.limit {
            Limit::Requests(requests) => Some(requests),
            Limit::Duration(_) => None,
        },
        pipeline: config.pipeline,
        method: config.method().to_owned(),
        request_bytes: job.request.len(),
        body_bytes: config.body.as_ref().map_or(0, Vec::len),
        timeout_ns: nanos(config.timeout),
        keep_alive: config.keep_alive,
        cpus: config.cpus.as_ref().map(ToString::to_string),
        wait: config.wait,
    }
}

type Thread = JoinHandle<Result<Finished, ClientError>>;

/// Starts all threads; they begin together. What one thread needs of the kernel is asked for before any is started, so
/// that no thread waits at the barrier for one that never came.
fn start(config: &Config, job: &Arc<Job>, live: &[Arc<Counter>], stop: &Stop) -> Result<Vec<Thread>, ClientError> {
    let mut workers = Vec::with_capacity(live.len());
    for (thread, live) in (0..config.threads()).zip(live) {
        let waker = Waker::new().map_err(ClientError::Thread)?;
        stop.register(waker.clone());
        workers.push(Worker {
            job: Arc::clone(job),
            connections: config.connections_of(thread),
            requests: config.requests_of(thread),
            live: Arc::clone(live),
            stop: stop.clone(),
            waker,
        });
    }
    let barrier = Arc::new(Barrier::new(workers.len()));
    let cpus = config.cpus.as_ref().map_or(&[][..], |list| &list.0);
    let mut threads = Vec::with_capacity(workers.len());
    for (at, worker) in workers.into_iter().enumerate() {
        let cpu = (!cpus.is_empty()).then(|| cpus[at % cpus.len()]);
        let barrier = Arc::clone(&barrier);
        let builder = std::thread::Builder::new().name(format!("client-{at}"));
        threads.push(builder.spawn(move || worker::run(worker, cpu, &barrier)).map_err(ClientError::Thread)?);
    }
    Ok(threads)
}

fn join(threads: Vec<Thread>) -> Result<Vec<Finished>, ClientError> {
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().map_err(|_| ClientError::Panicked)).collect();
    results.into_iter().map(|result| result?).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::new("http://127.0.0.1:81/a?b=c").expect("valid");
        change(&mut config);
        String::from_utf8(request(&config).expect("valid")).expect("ascii")
    }

    #[test]
    fn requests_are_rendered_once_and_whole() {
        assert_eq!(rendered(|_| ()), "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n");
        let closing = rendered(|config| config.keep_alive = false);
        assert!(closing.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{closing}");
        let host = rendered(|config| config.headers = vec![("hOst".to_owned(), b"other".to_vec())]);
        assert_eq!(host.matches("other").count(), 1, "{host}");
        assert!(!host.contains("127.0.0.1"), "{host}");
        let body = rendered(|config| config.body = Some(b"hello".to_vec()));
        assert!(body.starts_with("POST ") && body.ends_with("\r\n\r\nhello"), "{body}");
        assert!(body.contains("Content-Length: 5\r\n"), "{body}");
    }

    #[test]
    fn fields_cannot_carry_a_second_request() {
        let mut config = Config::new("http://127.0.0.1/").expect("valid");
        for (name, value) in [("X", &b"a\r\nY: b"[..]), ("X\r\nY", b"a"), ("X", b"a\0b"), ("", b"a")] {
            config.headers = vec![(name.to_owned(), value.to_vec())];
            assert!(request(&config).is_err(), "{name:?} {value:?}");
        }
    }
}
