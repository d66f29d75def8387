//! The rows: what is compared, what has been claimed of it, and the table.

use std::io::Write;
use std::time::Duration;

use clap::ValueEnum;

use super::arm::{Arm, Figure, Load, own_executable};
use super::peer::{Server, free_addr};
use super::{SpeedArgs, nginx};
use crate::error::LabError;

/// The comparisons. Ratios are ours by theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// CPU per request of the server, each pinned to one core and driven by wrk -c64 from the other
    ServerCpu,
    /// CPU per request of the load tool, each driving our server with 64 connections
    ClientCpu,
    /// Requests per second of the whole machine: the co-located pair, and nginx with 2 workers under wrk -t2 -c64
    Pair,
    /// The same with 16 requests pipelined
    Pipelined,
    /// Median round trip of one connection: the pair spinning on two cores, and nginx under wrk
    OneConnection,
}

impl Kind {
    /// All rows, in the order of the table.
    pub(super) const ALL: [Self; 5] =
        [Self::ServerCpu, Self::ClientCpu, Self::Pair, Self::Pipelined, Self::OneConnection];

    const fn title(self) -> &'static str {
        match self {
            Self::ServerCpu => "server CPU/request, wrk -c64",
            Self::ClientCpu => "client CPU/request, vs wrk",
            Self::Pair => "pair requests/s, 64 conns",
            Self::Pipelined => "pair requests/s, 16 deep",
            Self::OneConnection => "one connection, p50",
        }
    }

    const fn figure(self) -> Figure {
        match self {
            Self::ServerCpu => Figure::ServerCpu,
            Self::ClientCpu => Figure::LoadCpu,
            Self::Pair | Self::Pipelined => Figure::Rate,
            Self::OneConnection => Figure::Median,
        }
    }

    /// What is claimed of the ratio; `true`: at least, `false`: at most.
    const fn claim(self) -> (bool, f64) {
        match self {
            Self::ServerCpu => (false, 0.80),
            Self::ClientCpu => (false, 0.75),
            Self::Pair => (true, 2.0),
            Self::Pipelined => (true, 8.0),
            Self::OneConnection => (false, 0.25),
        }
    }
}

/// One comparison and its slices so far.
pub(super) struct Row {
    kind: Kind,
    ours: Arm,
    theirs: Arm,
    our_server: Option<Server>,
    /// The server of the other side, where it isn't ours.
    their_server: Option<Server>,
    samples: Vec<(f64, f64)>,
}

impl Row {
    pub(super) fn start(kind: Kind) -> Result<Self, LabError> {
        let wrk = |threads, connections, cpus| Load::Wrk { threads, connections, cpus, script: None };
        let pair = |args: &[&'static str]| Load::Pair { args: args.to_vec() };
        let (ours, theirs, our_server, their_server) = match kind {
            Kind::ServerCpu => (wrk(1, 64, "1"), wrk(1, 64, "1"), Some(our_server()?), Some(nginx::start(1, "0")?)),
            Kind::ClientCpu => {
                let args = vec!["-c", "64", "-t", "1", "--cpus", "1"];
                (Load::Client { args }, wrk(1, 64, "1"), Some(our_server()?), None)
            }
            Kind::Pair => (pair(&["--connections", "64"]), wrk(2, 64, ""), None, Some(nginx::start(2, "")?)),
            Kind::Pipelined => {
                let script = Some(pipelining_script()?);
                let theirs = Load::Wrk { threads: 2, connections: 64, cpus: "", script };
                (pair(&["--connections", "64", "--pipeline", "16"]), theirs, None, Some(nginx::start(2, "")?))
            }
            Kind::OneConnection => {
                let args = ["--connections", "1", "--placement", "split", "--wait", "spin"];
                (pair(&args), wrk(1, 1, ""), None, Some(nginx::start(2, "")?))
            }
        };
        let (ours, theirs) = (Arm::new(ours), Arm::new(theirs));
        Ok(Self { kind, ours, theirs, our_server, their_server, samples: Vec::new() })
    }

    /// Takes a slice of each side, ours first or last as the coin fell.
    pub(super) fn take_slices(&mut self, length: Duration, ours_first: bool) -> Result<(), LabError> {
        let (figure, our_server) = (self.kind.figure(), self.our_server.as_ref());
        let their_server = self.their_server.as_ref().or(our_server);
        let (mut ours, mut theirs) = (0.0, 0.0);
        for turn in [ours_first, !ours_first] {
            if turn {
                ours = self.ours.slice(our_server, figure, length)?;
            } else {
                theirs = self.theirs.slice(their_server, figure, length)?;
            }
        }
        self.samples.push((ours, theirs));
        Ok(())
    }

    pub(super) fn failures(&self) -> u64 {
        self.ours.failures + self.theirs.failures
    }

    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self.samples.iter().map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

/// Our server on CPU 0 with one worker.
fn our_server() -> Result<Server, LabError> {
    let addr = free_addr()?;
    let mut command = own_executable()?;
    command.args(["serve", "--cpus", "0", "--workers", "1", "--listen"]).arg(addr.to_string());
    Server::start(command, addr, None)
}

/// wrk sends what `request` returns, and takes as many answers.
fn pipelining_script() -> Result<tempfile::NamedTempFile, LabError> {
    let mut file = tempfile::NamedTempFile::new().map_err(LabError::system("write a script for wrk"))?;
    let lua = "init = function(args)\n  local one = wrk.format()\n  all = string.rep(one, 16)\nend\n\
               request = function() return all end\n";
    file.write_all(lua.as_bytes()).map_err(LabError::system("write a script for wrk"))?;
    Ok(file)
}

fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}

fn show(figure: Figure, value: f64) -> String {
    match figure {
        Figure::ServerCpu | Figure::LoadCpu | Figure::Median => format!("{:.2} us", value / 1e3),
        Figure::Rate => format!("{:.1} k/s", value / 1e3),
    }
}

/// Prints the table: medians of both sides, and the median, least and greatest of the rounds' ratios.
pub(super) fn print(rows: &[Row], args: &SpeedArgs, out: &mut impl Write) -> Result<(), LabError> {
    let mut line = |text: String| writeln!(out, "{text}").map_err(LabError::system("write to stdout"));
    line(format!(
        "{} rounds, slices of {} ms in shuffled order; ratio = ours / nginx + wrk\n",
        args.rounds, args.slice_ms
    ))?;
    line(format!("{:<30} {:>12} {:>12} {:>7} {:>15}  claim", "", "ours", "theirs", "ratio", "min-max"))?;
    for row in rows {
        let (figure, ratios) = (row.kind.figure(), row.ratios());
        let (at_least, bound) = row.kind.claim();
        let ratio = median(&ratios);
        let held = if at_least { ratio >= bound } else { ratio <= bound };
        line(format!(
            "{:<30} {:>12} {:>12} {:>7.3} {:>7.3}-{:<7.3}  {} {bound}{}",
            row.kind.title(),
            show(figure, median_of(row.samples.iter().map(|sample| sample.0))),
            show(figure, median_of(row.samples.iter().map(|sample| sample.1))),
            ratio,
            ratios.first().copied().unwrap_or(f64::NAN),
            ratios.last().copied().unwrap_or(f64::NAN),
            if at_least { ">=" } else { "<=" },
            if held { "" } else { "  NOT HELD" },
        ))?;
        if row.failures() > 0 {
            line(format!("{:<30} {} requests failed: this row says nothing", "", row.failures()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
    }
}
