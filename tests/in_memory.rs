//! Both ends without a kernel: the server's session and the client's, joined by a pipe that cuts the bytes wherever it
//! likes, on a clock that stands still unless a test moves it. A seed replays any failure:
//! `RINGSHOT_SEED=0x… cargo test -p ringshot-e2e --test in_memory`.

use ringshot_client::session::{Answer, Next as ClientNext, Session as Client, Why};
use ringshot_http1::{Limits, Method};
use ringshot_server::app::App;
use ringshot_server::config::{Machine, Options};
use ringshot_server::session::{Context, Next, Phase, Session as Server};
use ringshot_server::tally::Tally;

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";
/// A body larger than this makes the server answer 413.
const MAX_BODY: usize = 1 << 20;

/// xorshift64*: small, seeded, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A request on the wire and the answer that it must get.
#[derive(Debug, Clone)]
struct Planned {
    bytes: Vec<u8>,
    status: u16,
    body_bytes: u64,
    /// The answer ends the connection.
    closes: bool,
}

fn app() -> App {
    let machine = Machine { allowed_cpus: "0".parse().expect("a list"), workers: 1 };
    App::new(&Options::default().resolve(&machine).expect("a config")).expect("routes")
}

/// A body in one of the framings: nothing, a length, or chunks of random sizes with extensions and trailers.
fn framed(random: &mut Random, body: &[u8]) -> (String, Vec<u8>) {
    if random.one_in(2) {
        return (format!("Content-Length: {}\r\n", body.len()), body.to_vec());
    }
    let mut wire = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let len = 1 + random.below(rest.len());
        let extension = if random.one_in(3) { ";a=\"b;c\"" } else { "" };
        wire.extend_from_slice(format!("{len:x}{extension}\r\n").as_bytes());
        wire.extend_from_slice(&rest[..len]);
        wire.extend_from_slice(b"\r\n");
        rest = &rest[len..];
    }
    let trailer = if random.one_in(3) { "X-Sum: 1\r\n" } else { "" };
    wire.extend_from_slice(format!("0\r\n{trailer}\r\n").as_bytes());
    ("Transfer-Encoding: chunked\r\n".to_owned(), wire)
}

/// One request of a conversation in `method`, with what the server must make of it.
fn plan_one(random: &mut Random, method: &str) -> Planned {
    let close = random.one_in(8);
    let connection = if close { "Connection: close\r\n" } else { "" };
    if random.one_in(12) {
        let bytes = broken(random, method);
        return Planned { bytes, status: 400, body_bytes: 12, closes: true };
    }
    if method == "POST" {
        let body: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
        let expect = if random.one_in(3) { "Expect: 100-continue\r\n" } else { "" };
        let (framing, wire) = framed(random, &body);
        let mut bytes = format!("POST /echo HTTP/1.1\r\nHost: t\r\n{connection}{expect}{framing}\r\n").into_bytes();
        bytes.extend_from_slice(&wire);
        return Planned { bytes, status: 200, body_bytes: body.len() as u64, closes: close };
    }
    let (target, status, text) = match random.below(3) {
        0 => ("/nowhere", 404, 10),
        1 => ("/?a=1&b=2&c=111134", 200, 11),
        _ => ("/", 200, 11),
    };
    let old = random.one_in(6);
    let version = if old { "1.0" } else { "1.1" };
    let keep = if old && !close { "Connection: keep-alive\r\n" } else { connection };
    let bytes = format!("{method} {target} HTTP/{version}\r\nHost: t\r\n{keep}\r\n").into_bytes();
    let body_bytes = if method == "HEAD" { 0 } else { text };
    Planned { bytes, status, body_bytes, closes: close }
}

/// A request that must be refused with 400.
fn broken(random: &mut Random, method: &str) -> Vec<u8> {
    let heads = [
        "M / HTTP/1.1\r\nHost: t\r\nNo colon here\r\n\r\n",
        "M / HTTP/1.1\r\n\r\n",
        "M / HTTP/1.1\r\nHost: t\r\nContent-Length: +5\r\n\r\nhello",
        "M / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "M /a b HTTP/1.1\r\nHost: t\r\n\r\n",
    ];
    // HEAD would have no body in its refusal, and whether a broken head says HEAD is not always known.
    let method = if method == "HEAD" { "GET" } else { method };
    heads[random.below(heads.len())].replacen('M', method, 1).into_bytes()
}

/// The server's end with its output.
struct Far {
    session: Server,
    out: Vec<u8>,
    tally: Tally,
    closed: bool,
}

impl Far {
    fn new() -> Self {
        Self { session: Server::new(), out: Vec::new(), tally: Tally::default(), closed: false }
    }

    fn step(&mut self, app: &App, act: impl FnOnce(&mut Server, &mut Context<'_>, &mut Vec<u8>) -> Next) {
        let mut ctx = Context { app, date: DATE, tally: &mut self.tally, draining: false };
        let mut next = act(&mut self.session, &mut ctx, &mut self.out);
        let mut pieces = 0;
        while next == Next::Blocked {
            next = self.session.advance(&mut ctx, b"", &mut self.out);
            pieces += 1;
            assert!(pieces < 1000, "a blocked session goes on once its output is taken");
        }
        self.closed |= next == Next::Close;
    }
}

/// The client's end, and how much of the server's output has reached it.
struct Near {
    session: Client,
    taken: usize,
    answers: Vec<Answer>,
    end: Option<Why>,
}

impl Near {
    fn new(method: Method, requests: u32) -> Self {
        let mut session = Client::new(method, Limits::DEFAULT, false);
        session.requested(requests);
        Self { session, taken: 0, answers: Vec::new(), end: None }
    }

    /// Delivers up to `len` more bytes of `out`.
    fn deliver(&mut self, out: &[u8], len: usize) {
        let upto = self.taken.saturating_add(len).min(out.len());
        let next = self.session.advance(&out[self.taken..upto], &mut self.answers);
        self.note(next);
        self.taken = upto;
    }

    fn close(&mut self) {
        if self.end.is_none() {
            let next = self.session.end_of_input(&mut self.answers);
            self.note(next);
        }
    }

    fn note(&mut self, next: ClientNext) {
        if let (None, ClientNext::Close(reason)) = (self.end, next) {
            self.end = Some(reason);
        }
    }
}

/// What the client made of a conversation.
#[derive(Debug, PartialEq)]
struct Seen {
    answers: Vec<(u16, u64)>,
    end: Option<Why>,
}

/// Runs `wire` through both ends. `cut` says how long the next piece is, in either direction; `end` is what happens after
/// the last byte.
fn converse(app: &App, method: Method, wire: &[u8], requests: u32, mut cut: impl FnMut() -> usize, end: End) -> Seen {
    let mut far = Far::new();
    let mut near = Near::new(method, requests);
    let mut sent = 0;
    while sent < wire.len() && !far.closed {
        let upto = sent.saturating_add(cut()).min(wire.len());
        far.step(app, |session, ctx, out| session.advance(ctx, &wire[sent..upto], out));
        sent = upto;
        near.deliver(&far.out, cut());
    }
    match end {
        End::Open => {}
        End::Eof => far.step(app, Server::end_of_input),
        End::Silence => far.step(app, Server::expire),
    }
    while near.taken < far.out.len() {
        near.deliver(&far.out, cut());
    }
    if far.closed {
        near.close();
    }
    assert!(near.answers.len() <= requests as usize, "never two answers for one request");
    let answers = near.answers.iter().map(|answer| (answer.status, answer.body_bytes)).collect();
    Seen { answers, end: near.end }
}

/// What happens after the last byte of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Open,
    Eof,
    Silence,
}

/// The answers that a conversation must get, as far as the first one that closes.
fn expected(plan: &[Planned]) -> Vec<(u16, u64)> {
    let last = plan.iter().position(|request| request.closes).map_or(plan.len(), |at| at + 1);
    plan[..last].iter().map(|request| (request.status, request.body_bytes)).collect()
}

fn conversation(random: &mut Random) -> (Method, Vec<Planned>) {
    let (method, name) = [(Method::Get, "GET"), (Method::Head, "HEAD"), (Method::Post, "POST")][random.below(3)];
    let mut plan: Vec<Planned> = (0..1 + random.below(6)).map(|_| plan_one(random, name)).collect();
    if method == Method::Head {
        // A client that asked with HEAD would take the refusal's body for stray bytes, rightly.
        plan.retain(|request| request.status != 400);
    }
    (method, plan)
}

fn seeds() -> Vec<u64> {
    if let Ok(text) = std::env::var("RINGSHOT_SEED") {
        let digits = text.trim_start_matches("0x");
        return vec![u64::from_str_radix(digits, 16).expect("RINGSHOT_SEED is a hexadecimal number")];
    }
    (1..=400u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).collect()
}

#[test]
fn generated_conversations_are_answered_the_same_however_they_are_cut() {
    let app = app();
    for seed in seeds() {
        let mut random = Random(seed);
        let (method, plan) = conversation(&mut random);
        let wire: Vec<u8> = plan.iter().flat_map(|request| request.bytes.clone()).collect();
        let requests = plan.len() as u32;
        let answers = expected(&plan);
        let whole = converse(&app, method, &wire, requests, || usize::MAX / 4, End::Open);
        assert_eq!(whole.answers, answers, "seed {seed:#x}, whole: {plan:?}");
        let bytewise = converse(&app, method, &wire, requests, || 1, End::Open);
        assert_eq!(bytewise, whole, "seed {seed:#x}, byte by byte");
        for _ in 0..8 {
            let longest = 1 + random.below(64);
            let cut = converse(&app, method, &wire, requests, || 1 + random.below(longest), End::Open);
            assert_eq!(cut, whole, "seed {seed:#x}, cut up to {longest}: {plan:?}");
        }
    }
}

#[test]
fn a_close_at_every_point_yields_the_answers_so_far_and_one_refusal_at_most() {
    let app = app();
    for seed in seeds().into_iter().take(60) {
        let mut random = Random(seed);
        let (method, plan) = conversation(&mut random);
        let wire: Vec<u8> = plan.iter().flat_map(|request| request.bytes.clone()).collect();
        let answers = expected(&plan);
        for at in 0..=wire.len() {
            for end in [End::Eof, End::Silence] {
                let seen = converse(&app, method, &wire[..at], plan.len() as u32, || usize::MAX / 4, end);
                let complete = complete_requests(&plan, at).min(answers.len());
                let (good, rest) = seen.answers.split_at(complete.min(seen.answers.len()));
                assert_eq!(good, &answers[..complete], "seed {seed:#x}, {end:?} at {at}");
                let refusals = rest.iter().all(|(status, _)| matches!(status, 400 | 408));
                assert!(refusals && rest.len() <= 1, "seed {seed:#x}, {end:?} at {at}: {rest:?}");
            }
        }
    }
}

/// Requests that lie whole in the first `len` bytes.
fn complete_requests(plan: &[Planned], len: usize) -> usize {
    let ends = plan.iter().scan(0, |at, request| {
        *at += request.bytes.len();
        Some(*at)
    });
    ends.take_while(|end| *end <= len).count()
}

#[test]
fn time_passes_where_it_should() {
    let app = app();
    let mut far = Far::new();
    let phases = [
        (&b""[..], Phase::Fresh),
        (b"GET / HT", Phase::Head),
        (b"TP/1.1\r\nHost: t\r\n\r\n", Phase::Idle),
        (b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\na", Phase::Body),
        (b"bc", Phase::Idle),
    ];
    for (bytes, phase) in phases {
        far.step(&app, |session, ctx, out| session.advance(ctx, bytes, out));
        assert_eq!(far.session.phase(), phase, "after {:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_body_beyond_the_bound_is_refused_once_and_nothing_after_it_is_read() {
    let app = app();
    let head = format!("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: {}\r\n\r\n", MAX_BODY + 1);
    let wire = [head.as_bytes(), b"GET / HTTP/1.1\r\nHost: t\r\n\r\n"].concat();
    let seen = converse(&app, Method::Post, &wire, 2, || 7, End::Open);
    assert_eq!(seen.answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), [413]);
}
