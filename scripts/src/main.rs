//! `ringshot-lab`: a sub-command to its run, its end to an exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use ringshot_lab::cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run()
}
