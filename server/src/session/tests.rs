use ringshot_http1::encode;

use super::*;
use crate::config::{Config, Machine, Options};

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

fn app_of(toml: &str) -> App {
    let options: Options = toml::from_str(toml).expect("well-formed");
    App::new(&config_of(options)).expect("sendable")
}

fn config_of(options: Options) -> Config {
    let machine = Machine { allowed_cpus: "0".parse().expect("a list"), workers: 1 };
    options.resolve(&machine).expect("usable")
}

/// What came back, read by rules of its own.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn has(&self, line: &str) -> bool {
        self.head.split("\r\n").any(|other| other.eq_ignore_ascii_case(line))
    }
}

/// Splits the output into replies. `heads_only` says which of them have no body whatever their length says.
fn replies(mut out: &[u8], heads_only: &[usize]) -> Vec<Reply> {
    let mut replies = Vec::new();
    while !out.is_empty() {
        let end = out.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head") + 4;
        let head = String::from_utf8(out[..end].to_vec()).expect("ASCII");
        let status = head[9..12].parse().expect("a status");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
        let length = if heads_only.contains(&replies.len()) { 0 } else { length };
        replies.push(Reply { status, head, body: out[end..end + length].to_vec() });
        out = &out[end + length..];
    }
    replies
}

struct Run {
    out: Vec<u8>,
    next: Next,
    tally: Tally,
    phase: Phase,
}

/// Feeds the pieces one after the other, and the end of input when `ends`.
fn feed<'a>(app: &App, pieces: impl Iterator<Item = &'a [u8]>, ends: bool) -> Run {
    let (mut session, mut out, mut tally) = (Session::new(), Vec::new(), Tally::default());
    let mut ctx = Context { app, date: DATE, tally: &mut tally, draining: false };
    let mut next = Next::Read;
    for piece in pieces {
        next = session.advance(&mut ctx, piece, &mut out);
    }
    if ends {
        next = session.end_of_input(&mut ctx, &mut out);
    }
    let phase = session.phase();
    Run { out, next, tally, phase }
}

fn whole(app: &App, input: &str) -> Run {
    feed(app, [input.as_bytes()].into_iter(), false)
}

/// The same input whole, cut in two at every byte, and byte by byte: the same output each time.
fn every_way(app: &App, input: &str, ends: bool) -> Run {
    let bytes = input.as_bytes();
    let run = feed(app, [bytes].into_iter(), ends);
    let same = |other: Run, how: &str| {
        let text = String::from_utf8_lossy(&other.out).into_owned();
        assert_eq!(text, String::from_utf8_lossy(&run.out), "{input:?} {how}");
        assert_eq!(other.next, run.next, "{input:?} {how}");
        assert_eq!(other.tally, run.tally, "{input:?} {how}");
    };
    for cut in 0..=bytes.len() {
        same(feed(app, [&bytes[..cut], &bytes[cut..]].into_iter(), ends), &format!("cut at {cut}"));
    }
    same(feed(app, bytes.chunks(1), ends), "byte by byte");
    run
}

#[test]
fn every_request_shape_is_answered_the_same_however_it_arrives() {
    let app = app_of("");
    let h = "Host: t.example\r\n";
    // Input, statuses of the answers, whether the connection closes.
    let cases: Vec<(String, &[u16], bool)> = vec![
        (format!("GET / HTTP/1.1\r\n{h}\r\n"), &[200], false),
        (format!("GET /?a=1&b=2&c=111134 HTTP/1.1\r\n{h}\r\n"), &[200], false),
        (format!("GET http://t.example HTTP/1.1\r\n{h}\r\n"), &[200], false),
        (format!("\r\n\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[200], false),
        (format!("GET / HTTP/1.1\r\n{h}\r\n").repeat(16), &[200; 16], false),
        (format!("GET /nope HTTP/1.1\r\n{h}\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[404, 200], false),
        (format!("DELETE / HTTP/1.1\r\n{h}\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[405, 200], false),
        (format!("get / HTTP/1.1\r\n{h}\r\n"), &[501], false),
        (format!("CONNECT t.example:443 HTTP/1.1\r\n{h}\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[501], true),
        (format!("OPTIONS / HTTP/1.1\r\n{h}\r\n"), &[204], false),
        (format!("OPTIONS * HTTP/1.1\r\n{h}\r\n"), &[204], false),
        (format!("TRACE / HTTP/1.1\r\n{h}\r\n"), &[405], false),
        (format!("GET / HTTP/1.1\r\n{h}Connection: close\r\n\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[200], true),
        ("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n".to_owned(), &[200], true),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".repeat(2), &[200, 200], false),
        (
            format!("POST /echo HTTP/1.1\r\n{h}Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n{h}\r\n"),
            &[200, 200],
            false,
        ),
        (
            format!(
                "PUT /echo HTTP/1.1\r\n{h}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n"
            ),
            &[200],
            false,
        ),
        (format!("POST / HTTP/1.1\r\n{h}Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n{h}\r\n"), &[405, 200], false),
        (format!("POST /nope HTTP/1.1\r\n{h}Content-Length: 0\r\n\r\nGET / HTTP/1.1\r\n{h}\r\n"), &[404, 200], false),
        (
            format!("GET / HTTP/1.1\r\n{h}\r\nGET / HTTP/1.1\r\nBad Header\r\n\r\nGET / HTTP/1.1\r\n{h}\r\n"),
            &[200, 400],
            true,
        ),
        (format!("POST /echo HTTP/1.1\r\n{h}Transfer-Encoding: chunked\r\n\r\n3\r\nhelXX0\r\n\r\n"), &[400], true),
        (format!("POST /echo HTTP/1.1\r\n{h}Content-Length: 1048577\r\n\r\n"), &[413], true),
        (format!("GET / HTTP/2.0\r\n{h}\r\n"), &[505], true),
    ];
    for (input, statuses, closes) in cases {
        let run = every_way(&app, &input, false);
        let replies = replies(&run.out, &[]);
        let got: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(got, statuses, "{input:?}");
        assert_eq!(run.next == Next::Close, closes, "{input:?}");
        for (i, reply) in replies.iter().enumerate() {
            let last = i + 1 == replies.len();
            assert_eq!(
                reply.has("Connection: close"),
                last && closes,
                "close is said exactly when we close: {input:?}"
            );
            assert!(reply.has("Date: Sun, 06 Nov 1994 08:49:37 GMT"), "{reply:?}");
            assert!(reply.has("Server: ringshot"), "{reply:?}");
        }
        let counted = run.tally.responses;
        let sum = counted.success + counted.client_error + counted.server_error;
        assert_eq!(sum, statuses.len() as u64, "{input:?}");
    }
}

#[test]
fn bodies_and_fields_of_the_answers() {
    let app = app_of("");
    let get = whole(&app, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let get = &replies(&get.out, &[])[0];
    assert_eq!(get.body, b"hello world");
    assert!(get.has("Content-Type: text/plain") && get.has("Content-Length: 11"), "{get:?}");

    let head = every_way(&app, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", false);
    let head = &replies(&head.out, &[0])[0];
    assert_eq!(head.head, get.head, "HEAD answers with the head of GET and nothing else");

    let options = whole(&app, "OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(replies(&options.out, &[])[0].has("Allow: GET, HEAD, OPTIONS"));
    let refused = whole(&app, "PUT / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(replies(&refused.out, &[])[0].has("Allow: GET, HEAD, OPTIONS"));

    let chunked =
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
    let echo = every_way(&app, chunked, false);
    assert_eq!(replies(&echo.out, &[])[0].body, b"hello!");

    let old = every_way(&app, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false);
    assert!(replies(&old.out, &[])[0].has("Connection: keep-alive"), "ab -k waits for it");
}

#[test]
fn a_route_that_lists_options_answers_it_like_get() {
    let app =
        app_of("[[route]]\npath='/ok'\nbody='ok'\nmethods=['GET','OPTIONS']\nheaders=['X-A: b','server: mine']\n");
    for method in ["GET", "OPTIONS"] {
        let run = whole(&app, &format!("{method} /ok HTTP/1.1\r\nHost: h\r\n\r\n"));
        let reply = &replies(&run.out, &[])[0];
        assert_eq!((reply.status, &reply.body[..]), (200, &b"ok"[..]), "{method}");
        assert!(reply.has("X-A: b") && reply.has("server: mine") && !reply.has("Server: ringshot"), "{reply:?}");
        assert_eq!(reply.has("Allow: GET, HEAD, OPTIONS"), method == "OPTIONS");
    }
}

const EXPECTS: &str = "Host: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

#[test]
fn continue_is_said_once_and_only_to_one_who_waits_for_it() {
    let app = app_of("");
    let head = format!("POST /echo HTTP/1.1\r\n{EXPECTS}");
    let waits = feed(&app, [head.as_bytes(), b"he", b"llo"].into_iter(), false);
    let said = replies(&waits.out, &[]);
    assert!(waits.out.starts_with(encode::CONTINUE));
    assert_eq!(said.iter().map(|reply| reply.status).collect::<Vec<_>>(), [100, 200]);
    assert_eq!(said[1].body, b"hello");
    assert_eq!(waits.next, Next::Read);

    let hurried = whole(&app, &format!("{head}hello"));
    assert_eq!(replies(&hurried.out, &[]).len(), 1, "the body was there already");

    let old = feed(&app, [head.replace("1.1", "1.0").as_bytes(), b"hello"].into_iter(), false);
    assert_eq!(replies(&old.out, &[]).len(), 1, "no 1xx to a 1.0 client");

    let bare = whole(&app, "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(replies(&bare.out, &[]).len(), 1, "nothing to wait for");
}

#[test]
fn a_refused_expectation_gets_the_final_status_at_once_and_a_close() {
    let app = app_of("");
    for (target, length, status) in [("/nope", 5, 404), ("/", 5, 405), ("/echo", 1 << 30, 413)] {
        let head = format!("POST {target} HTTP/1.1\r\n{}", EXPECTS.replace('5', &length.to_string()));
        let run = whole(&app, &head);
        let said = replies(&run.out, &[]);
        assert_eq!(said.len(), 1, "{target}");
        assert_eq!(said[0].status, status, "{target}");
        assert!(said[0].has("Connection: close"), "{target}");
        assert_eq!(run.next, Next::Close, "{target}");
    }
}

#[test]
fn the_end_of_input() {
    let app = app_of("");
    let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    // Input, statuses, torn requests counted.
    let cases: [(String, &[u16], u64); 6] = [
        (String::new(), &[], 0),
        ("\r\n".to_owned(), &[], 0),
        (get.to_owned(), &[200], 0),
        (format!("{get}\r\n"), &[200], 0),
        (format!("{get}GET / HT"), &[200, 400], 1),
        ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel".to_owned(), &[400], 1),
    ];
    for (input, statuses, torn) in cases {
        let run = every_way(&app, &input, true);
        let got: Vec<u16> = replies(&run.out, &[]).iter().map(|reply| reply.status).collect();
        assert_eq!(got, statuses, "{input:?}");
        assert_eq!(run.next, Next::Close, "{input:?}");
        assert_eq!(run.tally.errors.torn, torn, "{input:?}");
    }
}

#[test]
fn deadlines_by_phase() {
    let app = app_of("");
    let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let body = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel";
    let cases = [
        ("", Phase::Fresh, 0),
        ("\r\n", Phase::Fresh, 0),
        (get, Phase::Idle, 0),
        ("GET / HT", Phase::Head, 408),
        (body, Phase::Body, 408),
    ];
    for (input, phase, status) in cases {
        let (mut session, mut out, mut tally) = (Session::new(), Vec::new(), Tally::default());
        let mut ctx = Context { app: &app, date: DATE, tally: &mut tally, draining: false };
        session.advance(&mut ctx, input.as_bytes(), &mut out);
        assert_eq!(session.phase(), phase, "{input:?}");
        out.clear();
        assert_eq!(session.expire(&mut ctx, &mut out), Next::Close);
        let said = replies(&out, &[]);
        assert_eq!(said.first().map_or(0, |reply| reply.status), status, "{input:?}");
        assert_eq!(session.expire(&mut ctx, &mut out), Next::Close, "an expired session stays closed");
        let errors = tally.errors;
        let counts = [errors.first_byte_timeout, errors.idle_timeout, errors.head_timeout, errors.body_timeout];
        let expected = [Phase::Fresh, Phase::Idle, Phase::Head, Phase::Body].map(|other| u64::from(other == phase));
        assert_eq!(counts, expected, "{input:?}");
    }
}

#[test]
fn output_and_depth_are_bounded_and_nothing_is_lost() {
    let app = app_of("[limits]\nmax_pipeline = 3\n[[route]]\npath='/big'\nbody='0123456789'\n");
    let input = "GET /big HTTP/1.1\r\nHost: h\r\n\r\n".repeat(10);
    let (mut session, mut tally) = (Session::new(), Tally::default());
    let mut ctx = Context { app: &app, date: DATE, tally: &mut tally, draining: false };
    let (mut out, mut answers, mut rounds) = (Vec::new(), 0, 0);
    let mut next = session.advance(&mut ctx, input.as_bytes(), &mut out);
    loop {
        let said = replies(&out, &[]).len();
        assert!(said <= 3, "{said} answers in one batch");
        answers += said;
        rounds += 1;
        out.clear();
        if next == Next::Read {
            break;
        }
        assert_eq!(next, Next::Blocked);
        next = session.advance(&mut ctx, b"", &mut out);
    }
    assert_eq!((answers, rounds), (10, 4));
    assert_eq!(session.waiting_bytes(), 0);
}

#[test]
fn output_bytes_are_bounded() {
    let body = "x".repeat(100_000);
    let app = app_of(&format!("[[route]]\npath='/big'\nbody='{body}'\n"));
    let input = "GET /big HTTP/1.1\r\nHost: h\r\n\r\n".repeat(10);
    let run = whole(&app, &input);
    assert_eq!(run.next, Next::Blocked);
    assert!(run.out.len() < PIPELINE_OUT_BYTES + body.len() + 1000, "{}", run.out.len());
    assert!(run.out.len() >= PIPELINE_OUT_BYTES);
}

#[test]
fn a_peer_that_pours_requests_and_reads_nothing_is_closed_at_the_bound() {
    let app = app_of("[limits]\nmax_pipeline = 1\n");
    let (mut session, mut tally, mut out) = (Session::new(), Tally::default(), Vec::new());
    let mut ctx = Context { app: &app, date: DATE, tally: &mut tally, draining: false };
    out.resize(PIPELINE_OUT_BYTES, b'x');
    let input = "GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(1000);
    let rounds = (0..).take_while(|_| session.advance(&mut ctx, input.as_bytes(), &mut out) == Next::Blocked).count();
    assert_eq!(rounds, BLOCKED_INPUT_BYTES / input.len());
    assert_eq!(out.len(), PIPELINE_OUT_BYTES);
    assert_eq!(tally.errors.overrun, 1);
}

#[test]
fn while_draining_the_last_answer_says_close_and_none_is_lost() {
    let app = app_of("");
    let (mut session, mut tally, mut out) = (Session::new(), Tally::default(), Vec::new());
    let mut ctx = Context { app: &app, date: DATE, tally: &mut tally, draining: true };
    let input = "GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(3);
    assert_eq!(session.advance(&mut ctx, input.as_bytes(), &mut out), Next::Close);
    let closes: Vec<bool> = replies(&out, &[]).iter().map(|reply| reply.has("Connection: close")).collect();
    assert_eq!(closes, [false, false, true]);
}

#[test]
fn a_reset_session_is_a_new_one() {
    let app = app_of("");
    let (mut session, mut tally, mut out) = (Session::new(), Tally::default(), Vec::new());
    let mut ctx = Context { app: &app, date: DATE, tally: &mut tally, draining: false };
    for torn in ["GET / HT", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel", "BAD\r\n\r\n"] {
        session.advance(&mut ctx, torn.as_bytes(), &mut out);
        session.reset();
        assert_eq!(session.phase(), Phase::Fresh, "{torn:?}");
        out.clear();
        assert_eq!(session.advance(&mut ctx, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &mut out), Next::Read);
        assert_eq!(replies(&out, &[])[0].status, 200, "{torn:?}");
        session.reset();
    }
}

#[test]
fn phases_start_anew_with_each_request() {
    let app = app_of("");
    let run = whole(&app, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /");
    assert_eq!(run.phase, Phase::Head);
    assert_eq!(run.tally.requests, 1);
}
