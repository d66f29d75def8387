//! The program's options, and how they become a [`Config`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use ringshot_host::affinity::CpuList;

use crate::config::{BODY_MAX_BYTES, Config, ConfigError, Limit, WaitPolicy};

const AFTER_HELP: &str = "\
Exit codes:
  0    every started request was answered with 2xx or 3xx
  1    the run finished, but requests failed or were answered with 4xx or 5xx
  2    wrong usage
  3    this machine refuses what is needed (io_uring, descriptors, a name)
  4    no request was answered: nothing listens, it hangs, or it isn't HTTP
  130  ended early by ^C or SIGTERM; the report covers what was done

A run that is limited by time ends with requests in flight. They get up to a
second (or the timeout, if that is shorter) to be answered; what is still open
then is counted as cancelled and is no failure.";

/// HTTP/1.1 load tool: closed loop, exact counts, latency per request, and a report that says what failed.
#[derive(Debug, Parser)]
#[command(name = "ringshot-client", version, max_term_width = 80, after_help = AFTER_HELP)]
pub struct Cli {
    /// Connections, opened exactly; they are spread over the threads
    #[arg(short = 'c', long, value_name = "CONNS", default_value_t = 64)]
    connections: u32,
    /// Threads [default: one per CPU that may be used, no more than connections]
    #[arg(short = 't', long, value_name = "THREADS")]
    threads: Option<u32>,
    /// Length of the run, as 500ms, 10s, 2m or 1h [default: 10s]
    #[arg(short = 'd', long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "requests")]
    duration: Option<Duration>,
    /// Requests, sent exactly, instead of a length
    #[arg(short = 'n', long, value_name = "REQUESTS")]
    requests: Option<u64>,
    /// Most requests in flight on each connection; more are sent when half of them are answered
    #[arg(short = 'p', long, value_name = "PIPELINE", default_value_t = 1)]
    pipeline: u32,
    /// Header field to send, as 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "N: V", value_parser = parse_header)]
    headers: Vec<(String, Vec<u8>)>,
    /// Request method [default: GET, or POST with a body]
    #[arg(short = 'm', long, value_name = "METHOD")]
    method: Option<String>,
    /// Request body
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// File with the request body
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// How long a request may take, and how long connecting; checked at eighths of it, 10 ms to 250 ms apart
    #[arg(long, value_name = "T", value_parser = parse_duration, default_value = "5s")]
    timeout: Duration,
    /// One request per connection, with Connection: close
    #[arg(long)]
    no_keepalive: bool,
    /// CPUs to pin to, as 0-3,6: thread i to the i-th, before it connects
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// What a thread does while no response is there
    #[arg(long, value_enum, default_value_t = Wait::Block)]
    wait: Wait,
    /// Form of the report on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where requests go: http://HOST:PORT/PATH?QUERY; port, path and query may be left out
    url: String,
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, 80 columns.
    Text,
    /// For programs: client/schema/report.schema.json.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wait {
    /// Sleep in the kernel
    Block,
    /// Ask again and again
    Spin,
    /// Spin for 50 us, then sleep
    Adaptive,
}

/// What is wrong with the command line beyond its grammar.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// Settings that can't be.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The body's file can't be read.
    #[error("--body-file {path}: {error}")]
    BodyFile {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}

impl Cli {
    /// Resolves the options.
    ///
    /// # Errors
    /// The first that can't be met.
    pub fn config(&self) -> Result<Config, UsageError> {
        let mut config = Config::new(&self.url).map_err(ConfigError::from)?;
        config.connections = self.connections;
        config.threads = self.threads;
        config.limit = match (self.requests, self.duration) {
            (Some(requests), _) => Limit::Requests(requests),
            (None, Some(length)) => Limit::Duration(length),
            (None, None) => config.limit,
        };
        config.pipeline = self.pipeline;
        config.headers = self.headers.clone();
        config.method = self.method.clone();
        config.body = match (&self.body, &self.body_file) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(path)) => Some(read_body(path)?),
            (None, None) => None,
        };
        config.timeout = self.timeout;
        config.keep_alive = !self.no_keepalive;
        config.cpus = self.cpus.clone();
        config.wait = match self.wait {
            Wait::Block => WaitPolicy::Block,
            Wait::Spin => WaitPolicy::Spin,
            Wait::Adaptive => WaitPolicy::Adaptive,
        };
        config.progress = true;
        config.check()?;
        Ok(config)
    }
}

/// Reads no more than a byte beyond the bound, which is enough for the check to refuse it.
fn read_body(path: &Path) -> Result<Vec<u8>, UsageError> {
    use std::io::Read;
    let mut body = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(BODY_MAX_BYTES as u64 + 1).read_to_end(&mut body));
    match read {
        Ok(_) => Ok(body),
        Err(error) => Err(UsageError::BodyFile { path: path.display().to_string(), error }),
    }
}

/// A length of time: digits with an optional fraction, then ms, s, m or h; a bare number is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit_s = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time; use us, ms, s, m or h")),
    };
    let number: f64 =
        number.parse().map_err(|_| "a length of time is a number and a unit, as 500ms or 10s".to_owned())?;
    Duration::try_from_secs_f64(number * unit_s).map_err(|error| error.to_string())
}

/// `Name: value`. The encoder refuses what can't stand in a head; here only the two parts are told apart.
fn parse_header(text: &str) -> Result<(String, Vec<u8>), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| "a header field is 'Name: value'".to_owned())?;
    if name.is_empty() || name.ends_with([' ', '\t']) {
        return Err("a header field needs a name, and no space before its colon".to_owned());
    }
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(args: &[&str]) -> Result<Config, String> {
        let cli = Cli::try_parse_from([&["ringshot-client"], args].concat()).map_err(|error| error.to_string())?;
        cli.config().map_err(|error| error.to_string())
    }

    #[test]
    fn the_grammar_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn durations() {
        let cases = [("500ms", 500), ("10s", 10_000), ("2", 2000), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)];
        for (text, ms) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "1d", "-1s", "1e3s", "1.2.3s", "1 s", "99999999999999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn header_fields() {
        assert_eq!(parse_header("A: b: c "), Ok(("A".to_owned(), b"b: c".to_vec())));
        assert_eq!(parse_header("A:"), Ok(("A".to_owned(), Vec::new())));
        for text in ["A", ": b", "A : b"] {
            assert!(parse_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_reach_the_config() {
        let all =
            "-c 8 -t 2 -n 100 -p 4 -H A:1 -H B:2 -m PUT --body hello --timeout 100ms --cpus 0-1 --wait spin http://h/";
        let got = config(&all.split(' ').collect::<Vec<_>>()).expect("valid");
        assert_eq!((got.connections, got.threads(), got.limit, got.pipeline), (8, 2, Limit::Requests(100), 4));
        assert_eq!((got.method(), got.body.as_deref(), got.headers.len()), ("PUT", Some(&b"hello"[..]), 2));
        assert_eq!((got.timeout, got.wait, got.keep_alive), (Duration::from_millis(100), WaitPolicy::Spin, true));
        assert_eq!(config(&["--body", "x", "http://h/"]).expect("valid").method(), "POST");
        assert!(!config(&["--no-keepalive", "http://h/"]).expect("valid").keep_alive);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cases: [(&[&str], &str); 7] = [
            (&["https://h/"], "https is not supported"),
            (&["-n", "10", "-d", "1s", "http://h/"], "cannot be used with"),
            (&["--body", "a", "--body-file", "b", "http://h/"], "cannot be used with"),
            (&["--body-file", "/nonexistent/x", "http://h/"], "/nonexistent/x: No such file"),
            (&["-c", "2", "-t", "3", "http://h/"], "-t 3 is more than -c 2"),
            (&["-d", "1d", "http://h/"], "no unit of time"),
            (&[], "<URL>"),
        ];
        for (args, words) in cases {
            let message = config(args).expect_err(words);
            assert!(message.contains(words), "{args:?}: {message}");
        }
    }
}
