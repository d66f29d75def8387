//! Sub-commands, and what their ends mean.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, and every request succeeded |
//! | 1 | done, but requests failed; the report shows which |
//! | 2 | the options are wrong or can't be met here |
//! | 3 | the machine refuses what is needed, or a program died |
//! | 130 | interrupted by `^C`; there is no report |

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use ringshot_client::cli::Cli as ClientCli;
use ringshot_host::root::Root;
use ringshot_server::cli::Cli as ServerCli;

use crate::doctor::{self, DoctorArgs};
use crate::error::LabError;
use crate::knobs::KnobsCommand;
use crate::pair::{self, PairArgs};
use crate::programs;
use crate::speed::{self, SpeedArgs};

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 done but requests failed, 2 wrong usage, 3 the machine
refuses what is needed, 130 interrupted.";

/// Runs servers and load tools against each other and says what each is worth.
#[derive(Debug, Parser)]
#[command(name = "ringshot-lab", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Drive our server with our client on this machine and report what the pair does
    Pair(PairArgs),
    /// Measure the README's claims again: ours and nginx + wrk, interleaved in one run
    Speed(SpeedArgs),
    /// Kernel settings: what is known of each, trying one, undoing
    #[command(subcommand)]
    Knobs(KnobsCommand),
    /// What this machine is, what its io_uring can do, and what makes measurements here unreliable
    Doctor(DoctorArgs),
    /// ringshot-server, in this executable
    #[command(hide = true)]
    Serve(Box<ServerCli>),
    /// ringshot-client, in this executable
    #[command(hide = true)]
    Load(Box<ClientCli>),
    /// The server end of a pair; takes orders on stdin
    #[command(hide = true)]
    PairServer,
    /// The client end of a pair; takes orders on stdin
    #[command(hide = true)]
    PairClient,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Cli {
    /// Does what was asked for, and returns how it ended.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let result = match self.command {
            Command::Pair(args) => run_pair(&args),
            Command::Speed(args) => run_speed(&args),
            Command::Knobs(command) => run_knobs(&command),
            Command::Doctor(args) => run_doctor(&args),
            Command::Serve(cli) => programs::serve(*cli),
            Command::Load(cli) => programs::load(*cli),
            Command::PairServer => pair::serve(),
            Command::PairClient => pair::drive(),
        };
        let code = result.unwrap_or_else(|error| {
            let _ = writeln!(std::io::stderr(), "ringshot-lab: {error}");
            error.exit_code()
        });
        ExitCode::from(code)
    }
}

fn run_pair(args: &PairArgs) -> Result<u8, LabError> {
    let report = pair::run(args)?;
    // A reader that has gone (`| head`) wants no more: that is no fault of the run.
    let _ = std::io::stdout().write_all(report.render(args.format).as_bytes());
    Ok(u8::from(!report.is_clean()))
}

fn run_speed(args: &SpeedArgs) -> Result<u8, LabError> {
    let clean = speed::run(args, &mut std::io::stdout().lock())?;
    Ok(u8::from(!clean))
}

/// No thread is started before: some of these enter a sandbox.
fn run_knobs(command: &KnobsCommand) -> Result<u8, LabError> {
    command.run(&Root::host(), &mut std::io::stdout().lock()).map_err(|error| LabError::Refused {
        program: "knobs".to_owned(),
        message: error.to_string(),
        exit_code: error.exit_code(),
    })
}

fn run_doctor(args: &DoctorArgs) -> Result<u8, LabError> {
    doctor::run(args, &Root::host(), &mut std::io::stdout().lock()).map_err(LabError::system("examine this machine"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let cases: [&[&str]; 6] = [
            &["pair", "--connections", "0"],
            &["pair", "--pipeline", "0"],
            &["pair", "--duration", "soon"],
            &["pair", "--duration", "0s"],
            &["pair", "--placement", "elsewhere"],
            &["pear"],
        ];
        for words in cases {
            assert!(Cli::try_parse_from([&["ringshot-lab"], words].concat()).is_err(), "{words:?}");
        }
        Cli::try_parse_from(["ringshot-lab", "pair", "--wait", "spin", "--warmup", "0s"]).unwrap();
    }
}
