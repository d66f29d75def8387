//! How the server ends: in order when it is asked to, and with one line and a status of its own when it can't start.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::peers::{peer, skipped};
use ringshot_e2e::programs::{PATIENCE, Running, Server, engines, program};
use ringshot_e2e::raw::{End, Raw};
use ringshot_e2e::scratch::Scratch;
use ringshot_e2e::{ensure, fail};

fn finishes_what_is_in_flight(signal: Signal) -> Outcome {
    for engine in engines() {
        let server = Server::start(engine, &[])?;
        let addr = server.addr();
        let mut idle = Raw::connect(addr)?;
        idle.usable()?;
        let mut busy = Raw::connect(addr)?;
        busy.send(b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf-")?;
        // A round trip on another connection of the same moment: the half request has been received as well.
        idle.usable()?;
        server.process().signal(signal)?;
        ensure!(idle.end_within(PATIENCE)? == End::Closed, "{engine}: an idle connection is not closed");
        busy.send(b"there")?;
        let answer = busy.response(false).map_err(|failure| failure.within(engine))?;
        ensure!(answer.body == b"half-there", "{engine}: got {}", shown(&answer.raw));
        ensure!(answer.connection("close"), "{engine}: does not say that it closes: {}", shown(&answer.raw));
        busy.closed()?;
        server.ended()?;
        ensure!(Raw::connect(addr).is_err(), "{engine}: somebody still listens");
    }
    Ok(())
}

#[test]
fn sigterm_finishes_what_is_in_flight() -> Outcome {
    finishes_what_is_in_flight(Signal::TERM)
}

#[test]
fn sigint_finishes_what_is_in_flight() -> Outcome {
    finishes_what_is_in_flight(Signal::INT)
}

/// What a server that refuses to start says: one line on standard error, and its exit status.
fn refusal(command: &mut Command) -> Outcome<(i32, String)> {
    let mut process = Running::start(command)?;
    let Some(code) = process.wait()?.code() else { return fail!("ended by a signal") };
    Ok((code, process.output()))
}

fn refused(command: &mut Command, status: i32, words: &[&str]) -> Outcome {
    let (code, output) = refusal(command)?;
    ensure!(code == status, "exit status {code} instead of {status}: {output}");
    ensure!(output.trim_end().lines().count() == 1, "more than one line: {output}");
    for word in words {
        ensure!(output.to_lowercase().contains(word), "{output:?} does not mention {word:?}");
    }
    Ok(())
}

#[test]
fn a_port_in_use_is_refused_in_one_line() -> Outcome {
    for engine in engines() {
        let server = Server::start(engine, &[])?;
        let addr = server.addr().to_string();
        let mut second = Command::new(program("ringshot-server"));
        refused(second.args(["--listen", &addr, "--engine", engine]), 3, &[&addr, "in use"])?;
        Raw::connect(server.addr())?.usable()?;
        server.stop()?;
    }
    Ok(())
}

#[test]
fn a_port_without_permission_is_refused_in_one_line() -> Outcome {
    let port_start = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start")?;
    if port_start.trim().parse::<u16>().is_ok_and(|first| first <= 80) {
        skipped("every user may listen on port 80 here");
        return Ok(());
    }
    // An ordinary user may not be able to reach the build directory.
    let scratch = Scratch::new("unprivileged")?;
    let copy = scratch.path().join("ringshot-server");
    std::fs::copy(program("ringshot-server"), &copy)?;
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755))?;
    let mut command = if rustix::process::geteuid().is_root() {
        let Some(mut setpriv) = peer("setpriv")? else { return Ok(()) };
        setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]).arg(&copy);
        setpriv
    } else {
        Command::new(&copy)
    };
    refused(command.args(["--listen", "127.0.0.1:80"]), 4, &["127.0.0.1:80", "permission"])
}

#[test]
fn bad_arguments_are_refused_with_status_2() -> Outcome {
    const ARGS: &[&[&str]] = &[
        &["--no-such-option"],
        &["--listen", "nowhere"],
        &["--workers", "0"],
        &["--workers", "many"],
        &["--cpus", "7-3"],
        &["--engine", "steam"],
        &["--wait", "patiently"],
        &["--body", "a", "--body-file", "b"],
        &["--header", "no colon"],
        &["--header", "X: a\r\nInjected: b"],
        &["--header", "Content-Length: 5"],
        &["--config", "/nonexistent/ringshot.toml"],
        &["--body-file", "/nonexistent/body"],
    ];
    for args in ARGS {
        let (code, output) = refusal(Command::new(program("ringshot-server")).args(*args))?;
        ensure!(code == 2, "{args:?}: exit status {code}: {output}");
        ensure!(!output.is_empty() && !output.contains("panicked"), "{args:?}: {output}");
    }
    Ok(())
}
