//! Nothing allocates per request after warm-up, on either side: three times as many requests cost as many allocations.
//!
//! A binary of its own, since the allocator counts for the whole process. The side under test runs in it, the other one is
//! a process. Both sides stand in one test: nothing else may allocate meanwhile.

#![forbid(unsafe_code)]

use std::alloc::System;

use clap::Parser as _;
use ringshot_client::cli::Cli;
use ringshot_e2e::ensure;
use ringshot_e2e::failure::{Failure, Outcome};
use ringshot_e2e::programs::{Server, engines};
use ringshot_e2e::report::Report;
use ringshot_host::stop::Stop;
use ringshot_server::config::{Machine, Options};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const REQUESTS: usize = 2000;

/// How many more allocations 4,000 more requests may cost. Starting the other process and reading what it writes takes some
/// that depend on how its output is cut.
const SLACK: usize = 200;

/// Kinds of load: their names, arguments of the load tool, and the path.
const LOADS: &[(&str, &[&str], &str)] = &[
    ("keep-alive", &["-c", "16"], "/"),
    ("pipelined", &["-c", "16", "-p", "16"], "/?a=1&b=2"),
    ("echoed bodies", &["-c", "16", "--body", "0123456789abcdef"], "/echo"),
];

#[test]
fn requests_allocate_nothing_after_warm_up() -> Outcome {
    for engine in engines() {
        server_side(engine).map_err(|failure| failure.within(format!("server, {engine}")))?;
    }
    client_side().map_err(|failure| failure.within("client"))
}

/// Compares the allocations of N and of 3 N requests, after N to warm up.
fn compare(name: &str, mut load: impl FnMut(usize) -> Outcome) -> Outcome {
    let mut counted = |requests| {
        let region = Region::new(ALLOCATOR);
        load(requests).map(|()| region.change().allocations)
    };
    counted(REQUESTS)?;
    let (once, thrice) = (counted(REQUESTS)?, counted(3 * REQUESTS)?);
    ensure!(
        thrice <= once + SLACK,
        "{name}: {once} allocations for {REQUESTS} requests, {thrice} for {}",
        3 * REQUESTS
    );
    Ok(())
}

fn server_side(engine: &str) -> Outcome {
    let options = format!("listen = [\"127.0.0.1:0\"]\nworkers = 1\nengine = \"{engine}\"");
    let options: Options = toml::from_str(&options).map_err(failed)?;
    let server = ringshot_server::Server::bind(options.resolve(&Machine::read()?).map_err(failed)?).map_err(failed)?;
    let addr = server.addresses()[0];
    let stop = Stop::new();
    let serving = {
        let stop = stop.clone();
        std::thread::spawn(move || server.serve(&stop))
    };
    for (name, args, path) in LOADS {
        let url = format!("http://{addr}{path}");
        compare(name, |requests| {
            let requests = requests.to_string();
            let report = Report::of(&[args, &["-n", &requests, &url][..]].concat())?;
            ensure!(report.code == 0, "{report:?}");
            Ok(())
        })?;
    }
    stop.request();
    serving.join().expect("the server does not panic").map_err(failed)?;
    Ok(())
}

fn client_side() -> Outcome {
    let server = Server::start("auto", &[])?;
    for (name, args, path) in LOADS {
        let url = format!("http://{}{path}", server.addr());
        compare(name, |requests| {
            let requests = requests.to_string();
            let cli = Cli::try_parse_from([&["ringshot-client", "-t", "1"], *args, &["-n", &requests, &url]].concat());
            let report = ringshot_client::run(cli.map_err(failed)?.config().map_err(failed)?, Stop::new());
            let report = report.map_err(failed)?;
            ensure!(report.exit_code() == 0, "{report:?}");
            Ok(())
        })?;
    }
    server.stop()
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}
