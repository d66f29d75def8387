//! Every response case of the shared corpus, through the session, whole and at every cut.

use ringshot_client::session::{Next, Session, Why};
use ringshot_http1::{Limits, Method};
use serde_json::Value;

/// Longer inputs are cut at every n-th place only.
const CUTS_MAX: usize = 600;

fn corpus() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/http1_cases.json");
    let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
    let corpus: Value = serde_json::from_str(&text).expect("JSON");
    let cases = corpus["cases"].as_array().expect("an array").clone();
    cases.into_iter().filter(|case| case["side"] == "response").collect()
}

/// Each char is one octet.
fn octets(text: &str) -> Vec<u8> {
    text.chars().map(|octet| u8::try_from(u32::from(octet)).expect("latin-1")).collect()
}

fn input(case: &Value) -> Vec<u8> {
    let unit = case["fill"]["unit"].as_str().unwrap_or_default();
    let fill = unit.repeat(case["fill"]["count"].as_u64().unwrap_or(0) as usize);
    octets(&case["bytes"].as_str().expect("bytes").replace("{{FILL}}", &fill))
}

fn method(case: &Value) -> Method {
    match case["method"].as_str().expect("a method") {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "CONNECT" => Method::Connect,
        "POST" => Method::Post,
        "OPTIONS" => Method::Options,
        other => panic!("method {other}"),
    }
}

/// Statuses of the answers, the length of the first body, and where it ended.
fn read(case: &Value, input: &[u8], cuts: &[usize]) -> (Vec<u64>, Option<u64>, Next) {
    let mut session = Session::new(method(case), Limits::DEFAULT, false);
    session.requested(case["outstanding"].as_u64().expect("a number") as u32);
    let (mut answers, mut next, mut from) = (Vec::new(), Next::Read, 0);
    for to in cuts.iter().copied().chain([input.len()]) {
        if next == Next::Read {
            next = session.advance(&input[from..to], &mut answers);
        }
        from = to;
    }
    if case["eof"] == true && next == Next::Read {
        next = session.end_of_input(&mut answers);
    }
    (answers.iter().map(|answer| answer.status.into()).collect(), answers.first().map(|answer| answer.body_bytes), next)
}

/// What this client makes of a case, where that is more than the corpus says.
fn expected_statuses(case: &Value) -> Vec<u64> {
    let expect = &case["expect"];
    let never_answers = expect["ok"] != true || case["outstanding"] == 0 || is_upgrade(case);
    match expect["responses"].as_array() {
        _ if never_answers => Vec::new(),
        Some(all) => all.iter().filter_map(Value::as_u64).collect(),
        None => vec![expect["status"].as_u64().expect("a status")],
    }
}

/// The client asks for no upgrade and for no tunnel: an answer that begins one is a failure.
fn is_upgrade(case: &Value) -> bool {
    matches!(case["expect"]["connection"].as_str(), Some("upgrade" | "tunnel"))
}

fn check(case: &Value, input: &[u8], cuts: &[usize]) {
    let (id, expect) = (&case["id"], &case["expect"]);
    let (statuses, body_bytes, next) = read(case, input, cuts);
    if expect["ok"] == true || expect["partial"] == true {
        assert_eq!(statuses, expected_statuses(case), "{id} cut at {cuts:?}: {next:?}");
    }
    match (expect["error"].as_str(), next) {
        // Which of several faults the codec names first is its own tests' affair.
        (Some(name), Next::Close(Why::Protocol(got))) => {
            assert!(got == name || case["layer"] == "codec", "{id}: {got}")
        }
        (Some(_), Next::Close(Why::Eof(_))) => assert_eq!(case["eof"], true, "{id}"),
        (Some(name), next) => panic!("{id} cut at {cuts:?}: {next:?} instead of {name}"),
        (None, Next::Close(Why::Protocol(_))) => assert!(is_upgrade(case), "{id} cut at {cuts:?}: {next:?}"),
        (None, Next::Close(_)) => assert_eq!(expect["connection"], "close", "{id} cut at {cuts:?}: {next:?}"),
        (None, Next::Read) => assert_ne!(expect["connection"], "close", "{id} cut at {cuts:?}"),
    }
    assert_eq!(expect["unsolicited"] == true, next == Next::Close(Why::Unsolicited), "{id} cut at {cuts:?}");
    let length = expect["body_len"].as_u64().or(expect["body"].as_str().map(|body| octets(body).len() as u64));
    if body_bytes.is_some() && expect["ok"] == true {
        assert_eq!(body_bytes, length, "{id} cut at {cuts:?}");
    }
}

#[test]
fn every_response_case_at_every_cut() {
    let corpus = corpus();
    assert!(corpus.len() >= 70, "the corpus has shrunk to {}", corpus.len());
    for case in &corpus {
        let input = input(case);
        let step = input.len() / CUTS_MAX + 1;
        check(case, &input, &[]);
        (0..=input.len()).step_by(step).for_each(|at| check(case, &input, &[at]));
        check(case, &input, &(1..input.len()).collect::<Vec<_>>());
    }
}
