//! One side of a comparison: a load, and the server it drives, and the figure that is read off a slice.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::peer::{Server, pinned, run_load};
use crate::error::LabError;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// CPU of the server per request, ns.
    ServerCpu,
    /// CPU of the load tool per request, ns.
    LoadCpu,
    /// Requests per second.
    Rate,
    /// Median latency, ns.
    Median,
}

/// What produces the requests.
pub(super) enum Load {
    /// wrk with these threads and connections, on these CPUs; `script` makes it pipeline.
    Wrk { threads: u32, connections: u32, cpus: &'static str, script: Option<tempfile::NamedTempFile> },
    /// Our client with these arguments.
    Client { args: Vec<&'static str> },
    /// Our pair with these arguments; it brings its own server.
    Pair { args: Vec<&'static str> },
}

/// What a load tool reports of one slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) requests: u64,
    pub(super) failures: u64,
    pub(super) rate_per_s: f64,
    pub(super) median_ns: f64,
}

/// One side of a row.
pub(super) struct Arm {
    pub(super) load: Load,
    pub(super) failures: u64,
}

impl Arm {
    pub(super) fn new(load: Load) -> Self {
        Self { load, failures: 0 }
    }

    /// Runs one slice against `server` and returns `figure`.
    pub(super) fn slice(&mut self, server: Option<&Server>, figure: Figure, length: Duration) -> Result<f64, LabError> {
        let cpu_before_ns = server.map_or(Ok(0), Server::cpu_ns)?;
        let finished = run_load(self.load.command(server, length)?)?;
        let cpu_after_ns = server.map_or(Ok(0), Server::cpu_ns)?;
        let outcome = self.load.read(&finished.stdout)?;
        self.failures += outcome.failures;
        let per_request = |ns: u64| ns as f64 / outcome.requests.max(1) as f64;
        Ok(match figure {
            Figure::ServerCpu => per_request(cpu_after_ns.saturating_sub(cpu_before_ns)),
            Figure::LoadCpu => per_request(finished.cpu_ns),
            Figure::Rate => outcome.rate_per_s,
            Figure::Median => outcome.median_ns,
        })
    }
}

impl Load {
    fn command(&self, server: Option<&Server>, length: Duration) -> Result<Command, LabError> {
        let url = server.map(|server| format!("http://{}/", server.addr)).unwrap_or_default();
        let seconds = format!("{}ms", length.as_millis());
        match self {
            Self::Wrk { threads, connections, cpus, script } => {
                let mut command = pinned(cpus, "wrk");
                // wrk takes whole seconds only.
                let whole = length.as_secs().max(1).to_string();
                command.arg(format!("-t{threads}")).arg(format!("-c{connections}")).args(["--latency", "-d", &whole]);
                if let Some(script) = script {
                    command.arg("-s").arg(script.path());
                }
                command.arg(url);
                Ok(command)
            }
            Self::Client { args } => {
                let mut command = own_executable()?;
                command.arg("load").args(args).args(["--format", "json", "-d", &seconds, &url]);
                Ok(command)
            }
            Self::Pair { args } => {
                let mut command = own_executable()?;
                command.arg("pair").args(args).args(["--format", "json", "--duration", &seconds]);
                Ok(command)
            }
        }
    }

    fn read(&self, stdout: &str) -> Result<Outcome, LabError> {
        let read = match self {
            Self::Wrk { .. } => read_wrk(stdout),
            Self::Client { .. } => read_client(stdout),
            Self::Pair { .. } => read_pair(stdout),
        };
        read.ok_or_else(|| LabError::Report { text: stdout.lines().take(20).collect::<Vec<_>>().join("\n") })
    }
}

/// The lab itself: its sub-commands are the server, the client and the pair.
pub(super) fn own_executable() -> Result<Command, LabError> {
    std::env::current_exe().map(Command::new).map_err(LabError::system("find the lab's own executable"))
}

/// Reads the JSON report of `ringshot-client`.
fn read_client(stdout: &str) -> Option<Outcome> {
    let report: Value = serde_json::from_str(stdout).ok()?;
    let number = |path: &str| report.pointer(path)?.as_f64();
    let quantiles = report.pointer("/latency/quantiles")?.as_array()?;
    let median = quantiles.iter().find(|quantile| quantile["q"] == 0.5)?;
    Some(Outcome {
        requests: number("/requests/completed")? as u64,
        failures: number("/requests/failed")? as u64,
        rate_per_s: number("/rate/requests_per_s")?,
        median_ns: median["ns"].as_f64()?,
    })
}

/// Reads the JSON report of `ringshot-lab pair`.
fn read_pair(stdout: &str) -> Option<Outcome> {
    let report: Value = serde_json::from_str(stdout).ok()?;
    let number = |path: &str| report.pointer(path)?.as_f64();
    Some(Outcome {
        requests: number("/requests/completed")? as u64,
        failures: (number("/requests/failed")? + number("/requests/refused")?) as u64,
        rate_per_s: number("/requests_per_s")?,
        median_ns: number("/latency/p50_ns")?,
    })
}

/// Reads wrk's report: `N requests in T`, `Requests/sec:`, the 50 % line of `--latency`, and its error lines.
fn read_wrk(stdout: &str) -> Option<Outcome> {
    let after = |prefix: &str| stdout.lines().find_map(|line| line.trim_start().strip_prefix(prefix)).map(str::trim);
    let requests = stdout.lines().find_map(|line| line.trim_start().split_once(" requests in "))?.0.parse().ok()?;
    let socket_errors = after("Socket errors:").map_or(0, sum_of_numbers);
    let statuses = after("Non-2xx or 3xx responses:").map_or(0, sum_of_numbers);
    Some(Outcome {
        requests,
        failures: socket_errors + statuses,
        rate_per_s: after("Requests/sec:")?.parse().ok()?,
        median_ns: duration_ns(after("50%")?)?,
    })
}

fn sum_of_numbers(line: &str) -> u64 {
    line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// A time as wrk prints it: `35.00us`, `1.20ms`, `2.10s`.
fn duration_ns(text: &str) -> Option<f64> {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)];
    units.iter().find_map(|(unit, ns)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 1s test @ http://127.0.0.1:8080/\n  1 threads and 64 connections\n\
        \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   616.68us  190.37us   4.52ms   92.48%\n\
        \x20   Req/Sec   103.85k     3.92k  107.71k    90.91%\n  Latency Distribution\n     50%  597.00us\n     99%    1.20ms\n\
        \x20 113600 requests in 1.10s, 15.38MB read\n  Socket errors: connect 0, read 3, write 0, timeout 1\n\
        \x20 Non-2xx or 3xx responses: 5\nRequests/sec: 103246.23\nTransfer/sec:     13.98MB\n";

    #[test]
    fn wrk_is_read_with_its_errors() {
        let expected = Outcome { requests: 113_600, failures: 9, rate_per_s: 103_246.23, median_ns: 597_000.0 };
        assert_eq!(read_wrk(WRK), Some(expected));
        assert_eq!(read_wrk("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }

    #[test]
    fn units_of_wrk() {
        let cases = [("35.00us", 35e3), ("1.20ms", 1.2e6), ("2.10s", 2.1e9), ("1.00m", 60e9)];
        for (text, ns) in cases {
            assert_eq!(duration_ns(text), Some(ns), "{text}");
        }
    }
}
