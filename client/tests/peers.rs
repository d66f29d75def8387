//! Scripted peers over real sockets: what they do is known, so every count is.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{OK, Peer, Server, expect, reason, refusing, run, run_with, wait_for};
use ringshot_client::Limit;
use ringshot_client::record::Class::{
    self, Cancelled, ClosedEarly, Completed2xx, Completed3xx, Completed4xx, Completed5xx, Connect, Protocol, Reset,
    Timeout,
};
use ringshot_client::report::Ending;

#[test]
fn exactly_as_many_requests_and_connections_as_asked_for() {
    for (connections, threads, requests, pipeline) in [(1, 1, 1, 1), (7, 3, 1000, 5), (5, 2, 5, 4), (3, 1, 100, 1)] {
        let served = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&served);
        let server = Server::start(move |mut peer, _| {
            while peer.request().is_some() {
                counter.fetch_add(1, Ordering::SeqCst);
                peer.say(OK);
            }
        });
        let report = run_with(&server.url(), connections, requests, |config| {
            config.threads = Some(threads);
            config.pipeline = pipeline;
        });
        expect(&report, &[(Completed2xx, requests)]);
        assert_eq!(served.load(Ordering::SeqCst) as u64, requests);
        assert_eq!(server.accepted.load(Ordering::SeqCst) as u32, connections);
        assert_eq!((report.connections.counts.established, report.connections.starved), (connections.into(), 0));
        assert_eq!((report.ending, report.exit_code()), (Ending::Complete, 0));
        assert_eq!(report.transfer.received_bytes, requests * OK.len() as u64);
        assert_eq!(report.transfer.body_bytes, requests * 5);
        assert_eq!(report.transfer.sent_bytes, requests * report.settings.request_bytes as u64);
    }
}

#[test]
fn an_ipv6_literal() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        return eprintln!("skipped: this machine has no IPv6 loopback");
    };
    let server = Server::on(listener, |mut peer, _| {
        let head = peer.request().unwrap_or_default();
        peer.say(if head.contains("\r\nHost: [::1]:") {
            OK
        } else {
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        });
        peer.linger();
    });
    expect(&run(&server.url(), 1, 1), &[(Completed2xx, 1)]);
}

#[test]
fn nobody_listens() {
    let report = run(&refusing(), 2, 6);
    expect(&report, &[(Connect, 6)]);
    assert_eq!((reason(&report), report.exit_code()), ("Connection refused", 4));
    assert!(report.rate.is_none() && report.latency.is_none());
}

#[test]
fn nobody_listens_and_the_run_is_given_up() {
    let report = run(&refusing(), 2, 100);
    expect(&report, &[(Connect, 16)]);
    assert_eq!((report.requests.never_started, report.connections.counts.given_up), (Some(84), 2));
    assert_eq!((report.ending, report.exit_code()), (Ending::GaveUp, 4));
}

#[test]
fn a_refusal_is_not_repeated_hot() {
    let report = run_with(&refusing(), 1, 1, |config| config.limit = Limit::Duration(Duration::from_millis(300)));
    let attempts = report.connections.counts.attempts;
    assert!((1..=6).contains(&attempts), "pauses of 10, 20, 40, 80, 160 ms leave room for 5, not {attempts}");
}

#[test]
fn a_server_that_hangs() {
    let server = Server::start(|peer, _| peer.linger());
    let report = run_with(&server.url(), 2, 4, |config| config.timeout = Duration::from_millis(80));
    expect(&report, &[(Timeout, 4)]);
    assert_eq!((reason(&report), report.exit_code()), ("no byte of the response had come", 4));
    let age = report.unanswered_age.expect("sent");
    assert!(age.count == 4 && age.min_ns >= 80_000_000, "{age:?}");
}

#[test]
fn a_server_that_stalls_in_the_response() {
    let server = Server::start(|mut peer, _| {
        peer.request();
        peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
        peer.linger();
    });
    let report = run_with(&server.url(), 1, 2, |config| config.timeout = Duration::from_millis(80));
    expect(&report, &[(Timeout, 2)]);
    assert_eq!(reason(&report), "the response had begun");
}

#[test]
fn a_run_that_ends_by_time_while_the_server_hangs() {
    let server = Server::start(|peer, _| peer.linger());
    let report = run_with(&server.url(), 3, 3, |config| {
        config.limit = Limit::Duration(Duration::from_millis(50));
        config.pipeline = 2;
    });
    expect(&report, &[(Cancelled, 6)]);
    assert_eq!((report.ending, report.exit_code()), (Ending::Complete, 4));
    assert!(report.warnings.iter().any(|warning| warning.code == "nothing_completed"));
}

/// Closes after saying `said`, in good order.
fn closing_after(said: &'static [u8]) -> Server {
    Server::start(move |mut peer: Peer, _| {
        peer.request();
        peer.say(said);
        peer.close();
    })
}

#[test]
fn a_server_that_closes_early_at_each_point() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "no byte of the response had come"),
        (b"H", "in the head of the response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "in the head of the response"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "in the head of the response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "in the body of the response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "in the body of the response"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "in the body of the response"),
    ];
    for (said, words) in cases {
        let report = run(&closing_after(said).url(), 2, 4);
        expect(&report, &[(ClosedEarly, 4)]);
        assert_eq!((reason(&report), report.exit_code()), (words, 4), "{:?}", String::from_utf8_lossy(said));
    }
}

#[test]
fn a_server_that_resets() {
    let server = Server::start(|mut peer, _| {
        peer.request();
        peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
        std::thread::sleep(Duration::from_millis(20));
        peer.reset();
    });
    let report = run(&server.url(), 1, 2);
    expect(&report, &[(Reset, 2)]);
    assert_eq!(reason(&report), "Connection reset by peer");
}

#[test]
fn nonsense() {
    let flood: &'static [u8] = Box::leak(b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100).into_boxed_slice());
    let cases: [&[u8]; 6] = [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        flood,
    ];
    for said in cases {
        let server = Server::start(move |mut peer, _| {
            peer.request();
            peer.say(said);
            peer.linger();
        });
        let report = run_with(&server.url(), 1, 2, |config| config.timeout = Duration::from_secs(2));
        expect(&report, &[(Protocol, 2)]);
        assert_eq!(report.exit_code(), 4, "{}", report.reasons[0].reason);
    }
}

#[test]
fn statuses_are_counted_apart_and_errors_show_in_the_exit_code() {
    let cases: [(&[u8], Class, u8); 4] = [
        (b"HTTP/1.1 204 No Content\r\n\r\n", Completed2xx, 0),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", Completed3xx, 0),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Completed4xx, 1),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Completed5xx, 1),
    ];
    for (response, class, code) in cases {
        let report = run(&Server::answering(response).url(), 2, 10);
        expect(&report, &[(class, 10)]);
        assert_eq!((report.exit_code(), report.latency_error.is_some()), (code, code == 1));
    }
}

#[test]
fn connection_close_is_followed_and_is_no_failure() {
    let response = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let server = closing_after(response);
    let report = run(&server.url(), 2, 10);
    expect(&report, &[(Completed2xx, 10)]);
    assert_eq!((report.connections.counts.close_announced, report.connections.counts.reconnects), (10, 8));
    assert_eq!((server.accepted.load(Ordering::SeqCst), report.exit_code()), (10, 0));
}

#[test]
fn a_server_that_announces_the_close_and_keeps_open_is_left() {
    let server = Server::start(|mut peer, _| {
        peer.request();
        peer.say(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        peer.linger();
    });
    expect(&run(&server.url(), 1, 3), &[(Completed2xx, 3)]);
}

#[test]
fn a_body_that_ends_with_the_connection() {
    let report = run(&closing_after(b"HTTP/1.1 200 OK\r\n\r\nhello").url(), 2, 6);
    expect(&report, &[(Completed2xx, 6)]);
    assert_eq!(report.transfer.body_bytes, 30);
}

#[test]
fn chunked_bodies_and_interim_responses() {
    let response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: v\r\n\r\n";
    let report = run_with(&Server::answering(response).url(), 2, 20, |config| config.pipeline = 4);
    expect(&report, &[(Completed2xx, 20)]);
    assert_eq!((report.transfer.body_bytes, report.transfer.interim_responses), (100, 40));
}

#[test]
fn byte_by_byte() {
    let server = Server::start(|mut peer, _| {
        while peer.request().is_some() {
            OK.iter().for_each(|byte| peer.say(&[*byte]));
        }
    });
    expect(&run(&server.url(), 1, 20), &[(Completed2xx, 20)]);
}

#[test]
fn requests_behind_an_announced_close_are_not_served() {
    let server = closing_after(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    let report = run_with(&server.url(), 1, 8, |config| config.pipeline = 4);
    expect(&report, &[(Completed2xx, 2), (ClosedEarly, 6)]);
    assert_eq!(reason(&report), "pipelined behind a response with Connection: close");
    assert!(report.warnings.iter().any(|warning| warning.code == "pipelined_close"));
}

#[test]
fn a_keep_alive_connection_that_is_closed_under_a_request() {
    let server = Server::start(|mut peer, _| {
        peer.request();
        peer.say(OK);
        peer.request();
        peer.close();
    });
    let report = run(&server.url(), 1, 6);
    expect(&report, &[(Completed2xx, 3), (ClosedEarly, 3)]);
    assert_eq!((reason(&report), report.exit_code()), ("no byte of the response had come", 1));
}

#[test]
fn surplus_bytes_are_never_a_response() {
    let surplus = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let report = run(&Server::answering(surplus).url(), 1, 5);
    expect(&report, &[(Completed2xx, 5)]);
    assert_eq!(report.connections.counts.unsolicited, 5);
}

#[test]
fn one_request_per_connection() {
    let server = Server::start(|mut peer, _| {
        let head = peer.request().unwrap_or_default().to_ascii_lowercase();
        assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
        peer.say(OK);
        peer.close();
    });
    let report = run_with(&server.url(), 3, 30, |config| config.keep_alive = false);
    expect(&report, &[(Completed2xx, 30)]);
    assert_eq!((server.accepted.load(Ordering::SeqCst), report.connections.counts.established), (30, 30));
}

#[test]
fn a_head_request_has_no_body() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let report = run_with(&Server::answering(response).url(), 1, 5, |config| config.method = Some("HEAD".to_owned()));
    expect(&report, &[(Completed2xx, 5)]);
}

#[test]
fn bodies_larger_than_any_socket_buffer_arrive_whole() {
    const LEN_BYTES: usize = 7 * 1024 * 1024 + 1;
    let server = Server::start(|mut peer, _| {
        while let Some(head) = peer.request() {
            let whole = head.starts_with("POST ") && head.contains(&format!("\r\nContent-Length: {LEN_BYTES}\r\n"));
            let right = peer.body(LEN_BYTES).iter().enumerate().all(|(at, byte)| *byte == at as u8);
            peer.say(if whole && right { OK } else { b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" });
        }
    });
    let body: Vec<u8> = (0..LEN_BYTES).map(|at| at as u8).collect();
    let report = run_with(&server.url(), 1, 4, |config| (config.body, config.pipeline) = (Some(body), 2));
    expect(&report, &[(Completed2xx, 4)]);
    assert_eq!(report.transfer.sent_bytes, 4 * report.settings.request_bytes as u64);
}

#[test]
fn latency_is_that_of_the_server() {
    let server = Server::start(|mut peer, number| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(if number == 0 { 120 } else { 0 }));
            peer.say(OK);
        }
    });
    let report = run(&server.url(), 1, 3);
    let latency = report.latency.expect("samples");
    assert!(latency.min_ns >= 119_000_000, "{latency:?}");
}

#[test]
fn pipelined_requests_have_their_own_departures() {
    let server = Server::start(|mut peer, _| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(50));
            peer.say(OK);
        }
    });
    let report = run_with(&server.url(), 1, 6, |config| config.pipeline = 2);
    let latency = report.latency.expect("samples");
    assert!(latency.min_ns >= 49_000_000, "{latency:?}");
    // Each request departs when the one before the last is answered, so the latencies add up to twice the window at most.
    // Counted from the departure of the first of a batch they would add up to more.
    let mean = report.in_flight.mean.expect("samples");
    assert!((1.5..2.01).contains(&mean), "{mean}");
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let server = Server::start(|mut peer, number| {
        if number < 3 {
            peer.request();
            return peer.close();
        }
        while peer.request().is_some() {
            peer.say(OK);
        }
    });
    let report = run(&server.url(), 1, 100);
    expect(&report, &[(Completed2xx, 97), (ClosedEarly, 3)]);
}

#[test]
fn a_stop_ends_the_run_and_cancels_what_is_in_flight() {
    let (server, waiting) = Server::answering_once();
    let mut config = ringshot_client::Config::new(&server.url()).expect("valid");
    (config.connections, config.threads) = (2, Some(1));
    config.limit = Limit::Duration(Duration::from_secs(600));
    let stop = ringshot_host::stop::Stop::new();
    let stopper = stop.clone();
    std::thread::spawn(move || {
        wait_for(&waiting, 2);
        stopper.request();
    });
    let report = ringshot_client::run(config, stop).expect("runs");
    common::check_sums(&report);
    expect(&report, &[(Completed2xx, 2), (Cancelled, 2)]);
    assert_eq!((report.ending, report.exit_code()), (Ending::Interrupted, 130));
}
