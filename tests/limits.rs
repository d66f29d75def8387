//! Every bound of the server, and what it answers at the bound.

use std::time::Duration;

use ringshot_e2e::ensure;
use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::process::rss_kib;
use ringshot_e2e::programs::{PATIENCE, Server, each_engine};
use ringshot_e2e::raw::{End, Raw};

struct Bound {
    name: &'static str,
    request: fn() -> String,
    status: u16,
}

const BOUNDS: &[Bound] = &[
    Bound {
        name: "target",
        request: || format!("GET /{} HTTP/1.1\r\nHost: t\r\n\r\n", "a".repeat(20_000)),
        status: 414,
    },
    Bound {
        name: "head",
        request: || format!("GET / HTTP/1.1\r\nHost: t\r\nX: {}\r\n\r\n", "a".repeat(70_000)),
        status: 431,
    },
    Bound {
        name: "fields",
        request: || format!("GET / HTTP/1.1\r\nHost: t\r\n{}\r\n", "A: b\r\n".repeat(200)),
        status: 431,
    },
    Bound {
        name: "announced body",
        request: || "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1048577\r\n\r\n".to_owned(),
        status: 413,
    },
    Bound {
        name: "announced body, waiting for 100",
        request: || {
            "POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 1048577\r\n\r\n".to_owned()
        },
        status: 413,
    },
    Bound {
        name: "body in chunks",
        request: || {
            let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
            format!("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(17))
        },
        status: 413,
    },
];

#[test]
fn what_exceeds_a_bound_is_answered_and_closed() -> Outcome {
    each_engine(&[], |server| {
        check_all(BOUNDS.iter().map(|bound| (bound.name, bound)), |bound| {
            let mut raw = Raw::connect(server.addr())?;
            raw.send_unless_closed((bound.request)().as_bytes())?;
            let answer = raw.response(false)?;
            ensure!(answer.status == bound.status, "got {} instead of {}", shown(&answer.raw), bound.status);
            raw.closed()
        })
    })
}

#[test]
fn what_is_just_within_the_bounds_is_served() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        let target = format!("GET /?{} HTTP/1.1\r\nHost: t\r\n\r\n", "a".repeat(16_000));
        ensure!(raw.ask(&target)?.status == 200, "a target of 16,000 bytes is refused");
        let head = format!("GET / HTTP/1.1\r\nHost: t\r\nX: {}\r\n\r\n", "a".repeat(64_000));
        ensure!(raw.ask(&head)?.status == 200, "a head of 64,000 bytes is refused");
        let fields = format!("GET / HTTP/1.1\r\nHost: t\r\n{}\r\n", "A: b\r\n".repeat(99));
        ensure!(raw.ask(&fields)?.status == 200, "100 fields are refused");
        let body = "0123456789abcdef".repeat(1 << 16);
        let echoed = raw.ask(&format!("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1048576\r\n\r\n{body}"))?;
        ensure!(echoed.status == 200 && echoed.body == body.as_bytes(), "a body of 1 MiB is not echoed");
        raw.usable()
    })
}

/// A deadline short enough for a test, and the others too long to interfere.
fn deadlines(name: &str) -> Vec<String> {
    const ALL: [&str; 4] = ["first-byte-timeout", "head-timeout", "body-timeout", "idle-timeout"];
    let time = |flag: &str| if flag == name { "300ms" } else { "10m" };
    ALL.iter().flat_map(|flag| [format!("--{flag}"), time(flag).to_owned()]).collect()
}

fn with_deadline(name: &str, test: impl Fn(&Server) -> Outcome) -> Outcome {
    let args = deadlines(name);
    each_engine(&args.iter().map(String::as_str).collect::<Vec<_>>(), test)
}

#[test]
fn a_connection_that_says_nothing_is_closed() -> Outcome {
    with_deadline("first-byte-timeout", |server| Raw::connect(server.addr())?.closed())
}

#[test]
fn an_idle_connection_is_closed_without_a_word() -> Outcome {
    with_deadline("idle-timeout", |server| {
        let mut raw = Raw::connect(server.addr())?;
        raw.usable()?;
        raw.closed()
    })
}

#[test]
fn a_head_that_takes_too_long_gets_408() -> Outcome {
    with_deadline("head-timeout", |server| {
        // Progress does not extend the deadline: it is for the whole head.
        slow_request(server, "GET / HTTP/1.1\r\nHost: t\r\nX: ", "aaaaaaaa")
    })
}

#[test]
fn a_body_that_takes_too_long_gets_408() -> Outcome {
    with_deadline("body-timeout", |server| {
        slow_request(server, "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n", "aaaaaaaa")
    })
}

/// Sends the start at once and then a byte every 100 ms, until the server has had enough of it.
fn slow_request(server: &Server, start: &str, drip: &str) -> Outcome {
    let mut raw = Raw::connect(server.addr())?;
    raw.send(start.as_bytes())?;
    for byte in drip.as_bytes().chunks(1) {
        if let Ok(answer) = raw.response_within(Duration::from_millis(100), false)? {
            ensure!(answer.status == 408, "got {} instead of 408", shown(&answer.raw));
            return raw.closed();
        }
        raw.send_unless_closed(byte)?;
    }
    let answer = raw.response(false)?;
    ensure!(answer.status == 408, "got {} instead of 408", shown(&answer.raw));
    raw.closed()
}

#[test]
fn a_slow_reader_gets_every_byte_and_costs_no_memory() -> Outcome {
    const REQUESTS: usize = 64;
    const BODY_BYTES: usize = 256 * 1024;
    const ALLOWED_GROWTH_KIB: u64 = 24 * 1024;
    let scratch = ringshot_e2e::scratch::Scratch::new("slow-reader")?;
    let body: Vec<u8> = (0..BODY_BYTES).map(|n| (n % 251) as u8).collect();
    let file = scratch.file("body", &body)?;
    let args = ["--body-file", file.to_str().expect("the temporary directory is text")];
    each_engine(&args, |server| {
        let mut raw = Raw::connect(server.addr())?;
        raw.socket().set_recv_buffer_size(16 * 1024)?;
        raw.usable()?;
        let before_kib = rss_kib(server.process().pid())?;
        raw.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n".repeat(REQUESTS).as_bytes())?;
        // Long enough for a server without a bound to prepare all 16 MiB of answers.
        std::thread::sleep(Duration::from_millis(500));
        let grown_kib = rss_kib(server.process().pid())?.saturating_sub(before_kib);
        ensure!(grown_kib < ALLOWED_GROWTH_KIB, "memory grew by {grown_kib} KiB while nothing was read");
        for n in 0..REQUESTS {
            let answer = raw.response(false)?;
            ensure!(answer.body == body, "answer {n} is wrong: {} bytes", answer.body.len());
        }
        raw.usable()
    })
}

#[test]
fn more_connections_than_the_bound_wait_for_a_free_one() -> Outcome {
    each_engine(&["--max-connections", "8", "--workers", "1"], |server| {
        let mut open = Vec::new();
        for _ in 0..8 {
            let mut raw = Raw::connect(server.addr())?;
            raw.usable()?;
            open.push(raw);
        }
        let mut waiting = Raw::connect(server.addr())?;
        waiting.send(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")?;
        drop(open.pop());
        match waiting.response_within(PATIENCE, false)? {
            Ok(answer) => ensure!(answer.status == 200, "got {}", shown(&answer.raw)),
            Err(end) => ensure!(end == End::Closed, "the ninth connection is {end:?} after one had left"),
        }
        open.iter_mut().try_for_each(Raw::usable)
    })
}
