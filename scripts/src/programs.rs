//! The server and the load tool as sub-commands of the lab, so that one build brings all that a measurement needs. They do
//! what `ringshot-server` and `ringshot-client` do, with the same options.

use std::io::Write as _;

use ringshot_client::cli::{Cli as ClientCli, Format};
use ringshot_client::report;
use ringshot_host::stop::{Stop, on_signals};
use ringshot_server::cli::Cli as ServerCli;
use ringshot_server::config::Machine;
use ringshot_server::{ConfigError, Server, ServerError};

use crate::error::LabError;

fn stop() -> Result<Stop, LabError> {
    let stop = Stop::new();
    on_signals(&stop).map_err(LabError::system("handle signals"))?;
    Ok(stop)
}

/// Serves until it is told to stop.
///
/// # Errors
/// What keeps the server from serving, with the exit code that it would have ended with.
pub fn serve(cli: ServerCli) -> Result<u8, LabError> {
    let refused = |error: ServerError| LabError::Refused {
        program: "server".to_owned(),
        message: error.to_string(),
        exit_code: error.exit_code(),
    };
    let machine = Machine::read().map_err(|error| refused(ConfigError::Machine(error).into()))?;
    let config = cli.resolve(&machine).map_err(|error| refused(error.into()))?;
    let stop = stop()?;
    Server::bind(config).and_then(|server| server.serve(&stop)).map_err(refused)?;
    Ok(0)
}

/// Runs a load and prints its report.
///
/// # Errors
/// What keeps the load tool from running, with the exit code that it would have ended with.
pub fn load(cli: ClientCli) -> Result<u8, LabError> {
    let refused =
        |message: String, exit_code| LabError::Refused { program: "load tool".to_owned(), message, exit_code };
    let config = cli.config().map_err(|error| refused(error.to_string(), 2))?;
    let outcome = ringshot_client::run(config, stop()?);
    let report = outcome.map_err(|error| refused(error.to_string(), error.exit_code()))?;
    let text = match cli.format {
        Format::Text => report::text::render(&report),
        Format::Json => report::json::render(&report).map_err(|error| refused(error.to_string(), 3))?,
    };
    // A reader that has gone (`| head`) wants no more: that is no fault of the run.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(report.exit_code())
}
