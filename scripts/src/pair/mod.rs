//! `ringshot-lab pair`: our client drives our server, both on this machine, and one report says what came of it.
//!
//! The modules in the order of a run: `plan` decides who runs on which CPUs, `peer` starts the two ends as processes of this
//! very executable, which speak `wire` with us and do their part in `ends`, `meter` reads what the machine spent, and
//! [`report`] says what it all amounts to.

mod ends;
mod meter;
mod peer;
mod plan;
pub mod report;
mod text;
mod wire;

use std::time::Duration;

use clap::Args;
use ringshot_server::config::Wait;
use ringshot_server::units::Time;

use crate::cli::Format;
use crate::error::LabError;
pub use ends::{drive, serve};
use meter::Meter;
use peer::{Peer, Role};
pub use plan::Placement;
use plan::Plan;
use report::{Measured, PairReport};
use wire::{Driven, Listening, Served};

/// A ring, a listener and a port are there at once or never; a loaded machine may need a while to start a process.
const START_WITHIN: Duration = Duration::from_secs(20);
/// How much longer than ordered a run may take: requests in flight at the end are waited for, at most 5 s.
const FINISH_WITHIN: Duration = Duration::from_secs(30);
/// The longest warm-up that nobody asked for.
const DEFAULT_WARMUP: Duration = Duration::from_secs(1);

/// What the pair does and for how long.
#[derive(Args, Clone, Debug)]
pub struct PairArgs {
    /// Connections, spread over the threads of the client
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: u32,
    /// How long to measure, as 500ms, 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub duration: Time,
    /// How long to run before, with connections of its own; 0s for not at all [default: a tenth of the duration, at most 1s]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Time>,
    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub pipeline: u32,
    /// Which cores the two ends run on
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = Placement::Colocated)]
    pub placement: Placement,
    /// What both ends do while there is nothing to do
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Wait::Block)]
    pub wait: Wait,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

fn parse_duration(text: &str) -> Result<Time, String> {
    let time: Time = text.parse().map_err(|error| format!("{error}"))?;
    if time.0.is_zero() { Err("nothing can be measured in no time".to_owned()) } else { Ok(time) }
}

impl PairArgs {
    fn warmup(&self) -> Duration {
        self.warmup.map_or_else(|| (self.duration.0 / 10).min(DEFAULT_WARMUP), |time| time.0)
    }
}

/// Runs the pair and returns what it did.
///
/// # Errors
/// Only when there was nothing to measure. Requests that failed are in the report.
pub fn run(args: &PairArgs) -> Result<PairReport, LabError> {
    let plan = Plan::new(args)?;
    let mut server = Peer::start(Role::Server)?;
    let listening: Listening = server.ask(&plan.serve_order(), START_WITHIN)?;
    let mut client = Peer::start(Role::Client)?;
    let mut drive = |length: Duration| -> Result<Driven, LabError> {
        client.ask(&plan.drive_order(listening.addr, length), length + FINISH_WITHIN)
    };
    if !args.warmup().is_zero() {
        drive(args.warmup())?;
    }
    let before = Meter::read(server.pid())?;
    let driven = drive(args.duration.0)?;
    let spent = Meter::read(server.pid())?.since(&before);
    client.dismiss(START_WITHIN)?;
    server.end_orders();
    let served: Served = server.answer(FINISH_WITHIN)?;
    server.dismiss(START_WITHIN)?;
    Ok(PairReport::new(&plan, Measured { listening, driven, served, spent }))
}
