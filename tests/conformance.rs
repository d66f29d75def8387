//! The request side of the conformance cases against the real server with the fixture's routes and limits.

use std::time::Duration;

use ringshot_e2e::cases::{Accepted, Case, load};
use ringshot_e2e::failure::Outcome;
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::programs::{PATIENCE, SILENCE, each_engine, fixture};
use ringshot_e2e::raw::{End, Raw};
use ringshot_e2e::response::Response;
use ringshot_e2e::{ensure, fail};

/// Between two parts; small, as a cut at every offset of every case asks for many.
const GAP: Duration = Duration::from_micros(200);

/// Past this length the bytes go one at a time, but without waiting in between.
const SLOW_BYTES: usize = 1024;

/// How a request stream is cut into writes.
#[derive(Clone, Copy)]
enum Cut {
    Nowhere,
    At(usize),
    Everywhere,
}

#[test]
fn whole() -> Outcome {
    check_cases(|case| vec![(case.id.clone(), Cut::Nowhere)])
}

#[test]
fn at_every_split() -> Outcome {
    check_cases(|case| {
        let offsets = if case.split_every { 1..case.bytes.len() } else { 0..0 };
        offsets.map(|at| (format!("{} cut at {at}", case.id), Cut::At(at))).collect()
    })
}

#[test]
fn byte_by_byte() -> Outcome {
    check_cases(|case| vec![(format!("{} byte by byte", case.id), Cut::Everywhere)])
}

fn check_cases(cuts: impl Fn(&Case) -> Vec<(String, Cut)>) -> Outcome {
    let cases = load("request");
    let config = fixture();
    let config = config.to_str().expect("the path of the sources is text");
    each_engine(&["--config", config], |server| {
        let runs = cases.iter().flat_map(|case| cuts(case).into_iter().map(move |(name, cut)| (name, (case, cut))));
        check_all(runs, |(case, cut)| {
            let mut talk = Talk { raw: Raw::connect(server.addr())?, heads: heads(&case.bytes), got: Vec::new() };
            talk.send(case, cut)?;
            talk.judge(case)
        })
    })
}

/// One run of one case.
struct Talk {
    raw: Raw,
    /// For each request in order, whether it is a HEAD, which decides where its answer ends.
    heads: Vec<bool>,
    got: Vec<Response>,
}

impl Talk {
    /// The server may close in the middle of what it refuses, so a failed write is no failure of the case.
    fn send(&mut self, case: &Case, cut: Cut) -> Outcome {
        let mut from = 0;
        for to in 1..=case.bytes.len() {
            let pause = case.pause_at.contains(&to);
            let cut_here = match cut {
                Cut::Nowhere => false,
                Cut::At(at) => at == to,
                Cut::Everywhere => true,
            };
            if pause || cut_here || to == case.bytes.len() {
                self.raw.send_unless_closed(&case.bytes[from..to])?;
                from = to;
            }
            if pause {
                self.read(SILENCE)?;
            } else if cut_here && case.bytes.len() <= SLOW_BYTES {
                std::thread::sleep(GAP);
            }
        }
        if case.eof { self.raw.half_close() } else { Ok(()) }
    }

    /// Reads one response, or tells how the connection stands.
    fn read(&mut self, patience: Duration) -> Outcome<Option<End>> {
        let answered = self.got.iter().filter(|response| response.status >= 200).count();
        let to_head = self.heads.get(answered).copied().unwrap_or(false);
        match self.raw.response_within(patience, to_head)? {
            Ok(response) => self.got.push(response),
            Err(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    fn judge(&mut self, case: &Case) -> Outcome {
        let accepted = case.accepted();
        let most = accepted.iter().map(|outcome| outcome.responses.len()).max().unwrap_or(0);
        let mut end = None;
        while self.got.len() < most && end.is_none() {
            end = self.read(PATIENCE)?;
        }
        let got: Vec<u64> = self.got.iter().map(|response| response.status.into()).collect();
        let mut fitting = accepted.iter().filter(|outcome| fits(&outcome.responses, &got));
        let Some(outcome) = fitting.next() else {
            return fail!("answered {got:?}, then {end:?}; allowed: {accepted:?}");
        };
        self.body(outcome)?;
        self.connection(outcome, end, case.eof).map_err(|failure| failure.within(format!("after {got:?}")))
    }

    fn body(&self, outcome: &Accepted) -> Outcome {
        let first = self.got.iter().find(|response| response.status >= 200);
        if let (Some(body), Some(first)) = (&outcome.body, first) {
            ensure!(*body == first.body, "body {:?} instead of {:?}", first.body, body);
        }
        Ok(())
    }

    fn connection(&mut self, outcome: &Accepted, end: Option<End>, eof: bool) -> Outcome {
        let patience = if outcome.connection == "close" { PATIENCE } else { SILENCE };
        match (outcome.connection.as_str(), end) {
            ("keep", None) if !eof => return self.raw.usable(),
            ("keep" | "close" | "open" | "keep|close", _) => {}
            (other, _) => return fail!("unknown connection state {other:?}"),
        }
        let end = match end {
            Some(end) => end,
            None => self.raw.end_within(patience)?,
        };
        match (outcome.connection.as_str(), end) {
            ("close" | "keep|close", End::Closed) | ("open", End::Silent) => Ok(()),
            ("keep", End::Closed) if eof => Ok(()),
            ("keep|close", End::Silent) => self.raw.usable(),
            (wanted, end) => fail!("the connection is {end:?} where {wanted} is due"),
        }
    }
}

fn fits(allowed: &[Vec<u64>], got: &[u64]) -> bool {
    allowed.len() == got.len() && allowed.iter().zip(got).all(|(any, status)| any.contains(status))
}

/// Whether each request line in the stream is a HEAD. Good enough for finding the ends of answers.
fn heads(bytes: &[u8]) -> Vec<bool> {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split([' ', '\r', '\n']).collect();
    let lines = words.windows(3).filter(|line| line[2].starts_with("HTTP/"));
    lines.map(|line| line[0].ends_with("HEAD")).collect()
}
