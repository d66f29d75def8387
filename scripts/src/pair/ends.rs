//! The two ends, each in a process of its own so that its CPU time can be told from the other's.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::thread;

use ringshot_client::record::Class;
use ringshot_client::report::Report;
use ringshot_client::{Limit, WaitPolicy};
use ringshot_host::affinity::CpuList;
use ringshot_host::clock;
use ringshot_host::stop::Stop;
use ringshot_server::config::{Machine, Options, Wait};
use ringshot_server::{ConfigError, Server, ServerError};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::{Answer, DriveOrder, Driven, Latency, Listening, Refusal, ServeOrder, Served, Warning};
use crate::error::LabError;

/// The server end: listens as ordered, serves until the orders end, says what it did. Returns the exit code.
///
/// # Errors
/// When the lab can't be heard or spoken to.
pub fn serve() -> Result<u8, LabError> {
    end_with_parent()?;
    let Some(order) = next_order()? else { return Ok(0) };
    let server = match bind(&order) {
        Ok(server) => server,
        Err(error) => return answer(&refuse::<Listening>(&error, error.exit_code())),
    };
    let Some(&addr) = server.addresses().first() else {
        return answer(&refuse::<Listening>(&"no address", 3));
    };
    answer(&Ok(Listening { addr, engine: server.engine().name().to_owned() }))?;
    let stop = Stop::new();
    stop_after_orders(stop.clone());
    let served = server.serve(&stop).map_err(|error| refusal(&error, error.exit_code()));
    answer(&served.and_then(|summary| {
        let connections = summary.total.connections;
        Ok(Served {
            accepted: connections.accepted,
            on_own_cpu: connections.on_own_cpu,
            summary: serde_json::to_value(&summary).map_err(|error| refusal(&error, 3))?,
        })
    }))
}

fn bind(order: &ServeOrder) -> Result<Server, ServerError> {
    let options = Options {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        workers: Some(order.cpus.0.len()),
        cpus: Some(order.cpus.clone()),
        steer: Some(order.steer),
        wait: Some(order.wait),
        ..Options::default()
    };
    let machine = Machine::read().map_err(ConfigError::Machine)?;
    Server::bind(options.resolve(&machine)?)
}

/// Stops the server when stdin ends. Nothing else is expected there, and nothing else is looked at.
fn stop_after_orders(stop: Stop) {
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stop.request();
    });
}

/// The client end: a run for each order, until they end. Returns the exit code.
///
/// # Errors
/// When the lab can't be heard or spoken to.
pub fn drive() -> Result<u8, LabError> {
    end_with_parent()?;
    while let Some(order) = next_order()? {
        answer(&run(order))?;
    }
    Ok(0)
}

fn run(order: DriveOrder) -> Answer<Driven> {
    let url = format!("http://{}/", order.addr);
    let mut config = ringshot_client::Config::new(&url).map_err(|error| refusal(&error, 2))?;
    config.connections = order.connections;
    config.threads = u32::try_from(order.cpus.0.len()).ok();
    config.cpus = Some(order.cpus).filter(|CpuList(cpus)| !cpus.is_empty());
    config.limit = Limit::Duration(order.length);
    config.pipeline = order.pipeline;
    config.wait = match order.wait {
        Wait::Block => WaitPolicy::Block,
        Wait::Spin => WaitPolicy::Spin,
        Wait::Adaptive => WaitPolicy::Adaptive,
    };
    let before_ns = clock::process_cpu_ns();
    let report = ringshot_client::run(config, Stop::new()).map_err(|error| refusal(&error, error.exit_code()))?;
    driven(&report, clock::process_cpu_ns() - before_ns)
}

fn driven(report: &Report, cpu_ns: u64) -> Answer<Driven> {
    let warnings = report.warnings.iter();
    Ok(Driven {
        completed: report.requests.completed,
        failed: report.requests.failed,
        refused: report.count(Class::Completed4xx) + report.count(Class::Completed5xx),
        cancelled: report.requests.cancelled,
        balanced: report.requests.balanced,
        requests_per_s: report.rate.map(|rate| rate.requests_per_s),
        latency: report.latency.as_ref().map(|latency| Latency {
            mean_ns: latency.mean_ns,
            p50_ns: latency.at(0.5),
            p90_ns: latency.at(0.9),
            p99_ns: latency.at(0.99),
            p999_ns: latency.at(0.999),
            max_ns: latency.max_ns,
        }),
        window_ns: report.window_ns,
        cpu_ns,
        engine: report.tool.engine.clone(),
        warnings: warnings.map(|w| Warning { code: w.code.to_owned(), text: w.text.clone() }).collect(),
        report: serde_json::to_value(report).map_err(|error| refusal(&error, 3))?,
    })
}

/// Asks the kernel to end this process when the thread that started it does. If that has happened already, stdin has ended too,
/// and there is no order to follow.
fn end_with_parent() -> Result<(), LabError> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| LabError::system("cannot tie this process to its parent")(errno.into()))
}

fn next_order<T: DeserializeOwned>() -> Result<Option<T>, LabError> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).map_err(LabError::system("cannot read orders"))?;
    if length == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line).map(Some).map_err(|error| LabError::Usage(format!("not an order: {error}")))
}

/// Answers the lab. It deals with refusals, so they are no error of this process.
fn answer<T: Serialize>(answer: &Answer<T>) -> Result<u8, LabError> {
    let mut line = serde_json::to_string(answer).map_err(|error| LabError::Usage(error.to_string()))?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).map_err(LabError::system("cannot answer"))?;
    Ok(0)
}

fn refuse<T>(error: &impl ToString, exit_code: u8) -> Answer<T> {
    Err(refusal(error, exit_code))
}

fn refusal(error: &impl ToString, exit_code: u8) -> Refusal {
    Refusal { message: error.to_string(), exit_code }
}
