//! What the machine can refuse a server while it runs: buffers, descriptors, locked memory, processors.

use std::process::Command;
use std::time::Duration;

use ringshot_e2e::ensure;
use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::peers::peer;
use ringshot_e2e::process::cpu_ticks;
use ringshot_e2e::programs::{Running, Server, each_engine, engines, program, run};
use ringshot_e2e::raw::Raw;

/// Hundreds of connections send at once into eight small buffers: nobody is closed and nobody starves.
#[test]
fn running_out_of_receive_buffers_delays_but_loses_nothing() -> Outcome {
    const CONNECTIONS: usize = 400;
    const BODY_BYTES: usize = 20_000;
    each_engine(&["--workers", "1", "--ring-buffers", "8", "--ring-buffer-size", "512"], |server| {
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            open.push(Raw::connect(server.addr())?);
        }
        let all = open.into_iter().enumerate().map(|(n, raw)| (format!("connection {n}"), (n, raw)));
        check_all(all, |(n, mut raw)| {
            let body = format!("{n:08}").repeat(BODY_BYTES / 8);
            raw.send(format!("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: {BODY_BYTES}\r\n\r\n").as_bytes())?;
            raw.send(body.as_bytes())?;
            let answer = raw.response(false)?;
            ensure!(answer.body == body.as_bytes(), "got {}", shown(&answer.raw));
            raw.usable()
        })
    })
}

/// Runs the server through a shell that lowers a limit first.
fn limited(limit: &str, engine: &str, args: &str) -> Outcome<Server> {
    let server = program("ringshot-server");
    let script = format!("ulimit {limit} && exec \"$0\" --listen 127.0.0.1:0 --engine {engine} {args}");
    Server::ready(Running::start(Command::new("sh").args(["-c", &script]).arg(server))?)
}

#[test]
fn running_out_of_descriptors_pauses_accepting() -> Outcome {
    const LIMIT: usize = 64;
    const SPIN_TICKS: u64 = 50;
    for engine in engines() {
        let server = limited(&format!("-n {LIMIT}"), engine, "--workers 1")?;
        let pid = server.process().pid();
        let mut open = Vec::new();
        for _ in 0..2 * LIMIT {
            open.push(Raw::connect(server.addr())?);
        }
        open[0].usable().map_err(|failure| failure.within(engine))?;
        // A server that tries again at once spends a tick of 10 ms of CPU in every 10 ms.
        let before = cpu_ticks(pid)?;
        std::thread::sleep(Duration::from_secs(1));
        let spent = cpu_ticks(pid)? - before;
        ensure!(spent < SPIN_TICKS, "{engine}: {spent} ticks of CPU in a second of waiting");
        let lines = server.process().output().lines().count();
        ensure!(lines < 10, "{engine}: {lines} lines:\n{}", server.process().output());
        // The ones that got in leave; as many of those that waited in the queue as there is room for are served.
        let mut waiting = open.split_off(LIMIT);
        waiting.truncate(LIMIT / 2);
        drop(open);
        for raw in &mut waiting {
            raw.usable().map_err(|failure| failure.within(engine))?;
        }
        drop(waiting);
        server.stop()?;
    }
    Ok(())
}

#[test]
fn little_locked_memory_is_enough_or_explained() -> Outcome {
    for engine in engines() {
        let server = limited("-l 64", engine, "--workers 2")?;
        Raw::connect(server.addr())?.usable()?;
        server.stop()?;
    }
    Ok(())
}

#[test]
fn workers_follow_the_processors_that_are_allowed() -> Outcome {
    let Some(mut taskset) = peer("taskset")? else { return Ok(()) };
    let config = run(taskset.args(["-c", "0"]).arg(program("ringshot-server")).arg("--print-config"))?;
    for line in ["workers = 1", "cpus = \"0\""] {
        ensure!(config.lines().any(|other| other == line), "no {line} in\n{config}");
    }
    Ok(())
}
