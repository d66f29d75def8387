//! `ringshot-client`: options in, report out. What it does is in the library.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ringshot_client::cli::{Cli, Format};
use ringshot_client::{report, run};
use ringshot_host::stop::{self, Stop};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = match cli.config() {
        Ok(config) => config,
        Err(error) => return refuse(&error, 2),
    };
    let stop = Stop::new();
    if let Err(error) = stop::on_signals(&stop) {
        return refuse(&error, 3);
    }
    let report = match run(config, stop) {
        Ok(report) => report,
        Err(error) => return refuse(&error, error.exit_code()),
    };
    let text = match cli.format {
        Format::Text => report::text::render(&report),
        Format::Json => match report::json::render(&report) {
            Ok(text) => text,
            Err(error) => return refuse(&error, 3),
        },
    };
    // A reader that has gone (`| head`) wants no more: that is no fault of the run.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(report.exit_code())
}

fn refuse(error: &dyn std::error::Error, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "ringshot-client: {error}");
    ExitCode::from(code)
}
