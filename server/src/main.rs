//! `ringshot-server`: flags to settings, settings to a server, its end to an exit code.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use ringshot_host::stop::{Stop, on_signals};
use ringshot_server::cli::Cli;
use ringshot_server::config::Machine;
use ringshot_server::{ConfigError, Server, ServerError, notice};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notice::say(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), ServerError> {
    let print_config = cli.print_config;
    let config = cli.resolve(&Machine::read().map_err(ConfigError::Machine)?)?;
    if print_config {
        return print(&config.to_toml().map_err(|error| ConfigError::Invalid(error.to_string()))?);
    }
    let stop = Stop::new();
    on_signals(&stop).map_err(|source| ServerError::System { what: "cannot handle signals", source })?;
    let server = Server::bind(config)?;
    for address in server.addresses() {
        notice::say(format_args!("listening on http://{address}/ ({} engine)", server.engine().name()));
    }
    server.serve(&stop).map(|_| ())
}

fn print(text: &str) -> Result<(), ServerError> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).map_err(|source| ServerError::System { what: "cannot write to stdout", source })
}
