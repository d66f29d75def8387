//! Connections by the thousand, ended in every way there is: descriptors return and memory stays flat.

use std::time::{Duration, Instant};

use ringshot_e2e::ensure;
use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::process::{open_fds, rss_kib};
use ringshot_e2e::programs::{PATIENCE, Server, each_engine};
use ringshot_e2e::raw::Raw;

/// Opened together and ended together.
const BATCH: usize = 100;
const BATCHES: usize = 320;
/// Batches before the memory is looked at: slots, buffers and carry buffers are kept for reuse, up to a bound.
const WARM_UP_BATCHES: usize = 120;
/// The most that 20,000 further connections may add. A leak of 1 KiB each would be more than twice as much.
const ALLOWED_GROWTH_KIB: u64 = 8 * 1024;

#[test]
fn twenty_thousand_connections_leave_nothing_behind() -> Outcome {
    each_engine(&[], |server| {
        let pid = server.process().pid();
        let base_fds = settled_fds(pid)?;
        churn(server, 0..WARM_UP_BATCHES)?;
        wait_for_fds(pid, base_fds)?;
        let warm_kib = rss_kib(pid)?;
        churn(server, WARM_UP_BATCHES..BATCHES)?;
        wait_for_fds(pid, base_fds)?;
        let grown_kib = rss_kib(pid)?.saturating_sub(warm_kib);
        ensure!(grown_kib <= ALLOWED_GROWTH_KIB, "memory grew by {grown_kib} KiB over {warm_kib} KiB");
        Raw::connect(server.addr())?.usable()
    })
}

fn churn(server: &Server, batches: std::ops::Range<usize>) -> Outcome {
    check_all(batches.map(|batch| (format!("batch {batch}"), batch)), |batch| {
        let mut open = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            open.push(Raw::connect(server.addr())?);
        }
        for (n, raw) in open.into_iter().enumerate() {
            end(raw, n + batch)?;
        }
        Ok(())
    })
}

/// Uses a connection and ends it in one of seven ways.
fn end(mut raw: Raw, way: usize) -> Outcome {
    const REQUEST: &str = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";
    match way % 7 {
        0 => answered(&mut raw, REQUEST),
        1 => {
            answered(&mut raw, "GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")?;
            raw.closed()
        }
        2 => Ok(()),
        3 => raw.abort(),
        4 => raw.send(b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\n\r\ntorn"),
        5 => {
            raw.send(&REQUEST.as_bytes()[..12])?;
            raw.abort()
        }
        _ => {
            // Answers in flight meet a reset.
            raw.send(REQUEST.repeat(50).as_bytes())?;
            raw.abort()
        }
    }
}

fn answered(raw: &mut Raw, request: &str) -> Outcome {
    let answer = raw.ask(request)?;
    ensure!(answer.status == 200, "got {}", shown(&answer.raw));
    Ok(())
}

/// Descriptors of a server that has opened all that it needs: it says where it listens before each worker has its ring.
fn settled_fds(pid: u32) -> Outcome<usize> {
    let deadline = Instant::now() + PATIENCE;
    let (mut before, mut unchanged) = (open_fds(pid)?, 0);
    while unchanged < 10 {
        ensure!(Instant::now() < deadline, "the server goes on opening descriptors: {before}");
        std::thread::sleep(Duration::from_millis(50));
        let now = open_fds(pid)?;
        unchanged = if now == before { unchanged + 1 } else { 0 };
        before = now;
    }
    Ok(before)
}

/// Waits until the server has closed what its peers have left.
fn wait_for_fds(pid: u32, base: usize) -> Outcome {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let fds = open_fds(pid)?;
        if fds <= base {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{fds} descriptors are still open, {base} at the start");
        std::thread::sleep(Duration::from_millis(20));
    }
}
