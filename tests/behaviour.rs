//! What a server must do beyond the syntax of messages: methods, order, persistence, ends, and the date.

use std::time::{Duration, SystemTime};

use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::programs::{SILENCE, each_engine};
use ringshot_e2e::raw::{End, Raw};
use ringshot_e2e::{ensure, fail};

struct Exchange {
    request: &'static str,
    status: u16,
    body: &'static str,
    /// Fields that the answer must have, in lower case, with their values.
    fields: &'static [(&'static str, &'static str)],
}

const HELLO_FIELDS: &[(&str, &str)] =
    &[("content-type", "text/plain"), ("content-length", "11"), ("server", "ringshot")];

const EXCHANGES: &[Exchange] = &[
    Exchange { request: "GET / HTTP/1.1", status: 200, body: "hello world", fields: HELLO_FIELDS },
    Exchange { request: "GET /?any=query HTTP/1.1", status: 200, body: "hello world", fields: HELLO_FIELDS },
    Exchange { request: "GET http://t/ HTTP/1.1", status: 200, body: "hello world", fields: HELLO_FIELDS },
    Exchange { request: "HEAD / HTTP/1.1", status: 200, body: "", fields: HELLO_FIELDS },
    Exchange { request: "OPTIONS / HTTP/1.1", status: 204, body: "", fields: &[("allow", "GET, HEAD, OPTIONS")] },
    Exchange { request: "OPTIONS * HTTP/1.1", status: 204, body: "", fields: &[] },
    Exchange { request: "GET /nothing/here HTTP/1.1", status: 404, body: "not found\n", fields: &[] },
    Exchange { request: "HEAD /nothing/here HTTP/1.1", status: 404, body: "", fields: &[("content-length", "10")] },
    Exchange {
        request: "DELETE / HTTP/1.1",
        status: 405,
        body: "method not allowed\n",
        fields: &[("allow", "GET, HEAD, OPTIONS")],
    },
    Exchange { request: "BREW / HTTP/1.1", status: 501, body: "not implemented\n", fields: &[] },
];

#[test]
fn methods_and_paths_get_their_answers() -> Outcome {
    each_engine(&[], |server| {
        check_all(EXCHANGES.iter().map(|exchange| (exchange.request, exchange)), |exchange| {
            let mut raw = Raw::connect(server.addr())?;
            let answer = raw.ask(&format!("{}\r\nHost: t\r\n\r\n", exchange.request))?;
            let right = answer.status == exchange.status && answer.body == exchange.body.as_bytes();
            ensure!(right, "got {}", shown(&answer.raw));
            for (name, value) in exchange.fields {
                ensure!(answer.field(name) == Some(value), "{name} is not {value:?} in {}", shown(&answer.raw));
            }
            ensure!(answer.field("date").is_some(), "no date in {}", shown(&answer.raw));
            raw.usable()
        })
    })
}

#[test]
fn pipelined_requests_are_answered_in_order() -> Outcome {
    const REQUESTS: usize = 500;
    each_engine(&[], |server| {
        let request = |n: usize| format!("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n\r\n{n:06}");
        let mut raw = Raw::connect(server.addr())?;
        raw.send((0..REQUESTS).map(request).collect::<String>().as_bytes())?;
        for n in 0..REQUESTS {
            let answer = raw.response(false)?;
            let due = format!("{n:06}");
            ensure!(answer.body == due.as_bytes(), "{} where {due} was due", shown(&answer.raw));
        }
        raw.usable()
    })
}

#[test]
fn a_body_that_waits_for_100_is_asked_for_once() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        raw.send(b"POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")?;
        let interim = raw.response(false)?;
        ensure!(interim.status == 100, "got {} instead of 100", shown(&interim.raw));
        ensure!(raw.end_within(SILENCE)? == End::Silent, "did not wait for the body");
        raw.send(b"hello")?;
        let answer = raw.response(false)?;
        ensure!(answer.status == 200 && answer.body == b"hello", "got {}", shown(&answer.raw));
        raw.usable()
    })
}

#[test]
fn a_refused_expectation_ends_the_connection() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        raw.send(b"POST /nowhere HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")?;
        let answer = raw.response(false)?;
        ensure!(answer.status == 404, "got {} instead of the final status at once", shown(&answer.raw));
        raw.closed()
    })
}

#[test]
fn version_1_0_is_kept_alive_when_it_asks_and_only_then() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        for _ in 0..3 {
            let answer = raw.ask("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")?;
            ensure!(answer.connection("keep-alive"), "a tool like ab would wait for the end: {}", shown(&answer.raw));
        }
        let answer = raw.ask("GET / HTTP/1.0\r\n\r\n")?;
        ensure!(!answer.connection("keep-alive"), "keep-alive without being asked: {}", shown(&answer.raw));
        raw.closed()
    })
}

#[test]
fn connection_close_is_answered_with_fin_and_never_reset() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        // What follows is not to be answered, and its unread bytes must not turn the end into a reset.
        let ignored = "GET /nothing HTTP/1.1\r\nHost: t\r\n\r\n".repeat(1000);
        raw.send(format!("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n{ignored}").as_bytes())?;
        let answer = raw.response(false)?;
        ensure!(answer.connection("close"), "does not say that it closes: {}", shown(&answer.raw));
        raw.closed()
    })
}

#[test]
fn a_peer_that_half_closes_gets_all_its_answers() -> Outcome {
    each_engine(&[], |server| {
        for requests in [1, 2, 40] {
            let mut raw = Raw::connect(server.addr())?;
            raw.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n".repeat(requests).as_bytes())?;
            raw.half_close()?;
            for n in 0..requests {
                let answer = raw.response(false).map_err(|failure| failure.within(format!("{n} of {requests}")))?;
                ensure!(answer.status == 200, "got {}", shown(&answer.raw));
            }
            raw.closed()?;
        }
        Ok(())
    })
}

#[test]
fn an_error_is_answered_once_and_can_be_read() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        // More than the receive buffers hold, so that the server closes while the peer is still sending.
        let more = "GET / HTTP/1.1\r\nHost: t\r\n\r\n".repeat(4000);
        raw.send_unless_closed(format!("GET / HTTP/1.1\r\nHost : t\r\n\r\n{more}").as_bytes())?;
        let answer = raw.response(false)?;
        ensure!(answer.status == 400, "got {}", shown(&answer.raw));
        ensure!(answer.connection("close"), "does not say that it closes: {}", shown(&answer.raw));
        raw.closed()
    })
}

#[test]
fn the_date_is_right_also_after_idling() -> Outcome {
    each_engine(&[], |server| {
        let mut raw = Raw::connect(server.addr())?;
        for idle in [0, 2100, 1300] {
            std::thread::sleep(Duration::from_millis(idle));
            // The coarse clock that servers read may lag by some ticks.
            let before = seconds(SystemTime::now() - Duration::from_millis(50));
            let answer = raw.ask("GET / HTTP/1.1\r\nHost: t\r\n\r\n")?;
            let after = seconds(SystemTime::now());
            let Some(Ok(date)) = answer.field("date").map(httpdate::parse_http_date) else {
                return fail!("no date in {}", shown(&answer.raw));
            };
            let date = seconds(date);
            ensure!((before..=after).contains(&date), "{date} s is not in {before}..={after} after {idle} ms");
        }
        Ok(())
    })
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).expect("the clock is set").as_secs()
}
