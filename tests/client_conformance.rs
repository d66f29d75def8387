//! The response side of the conformance cases: a scripted server plays each of them to the real load tool, which must
//! count what the case says, and use the connection again exactly where it may.

use ringshot_e2e::cases::{Case, load};
use ringshot_e2e::failure::Outcome;
use ringshot_e2e::parallel::check_all;
use ringshot_e2e::peers::skipped;
use ringshot_e2e::report::Report;
use ringshot_e2e::scripted::{Played, Script, play};
use ringshot_e2e::{ensure, fail};

/// What a request gets whose answer never comes to its end. Long enough for the answers that do.
const TIMEOUT: &str = "2s";

/// Cases for which their note allows the client an error instead.
const OR_ERROR: [&str; 5] = ["rh-obs-fold", "rc-te-not-chunked", "rb-list-same", "rb-te-and-cl", "rk-te-10"];

/// Cases that a closed-loop client with the methods of its command line can't be brought into.
const OUT_OF_REACH: [(&str, &str); 3] = [
    ("rn-connect-200", "the load tool opens no tunnels"),
    ("rp-408-then-eof", "a closed loop has a request outstanding at all times"),
    ("ri-101", "the load tool never asks for an upgrade"),
];

#[test]
fn whole() -> Outcome {
    check_cases(|case| vec![(case.id.clone(), vec![case.bytes.clone()])])
}

#[test]
fn at_every_split() -> Outcome {
    check_cases(|case| {
        let offsets = if case.split_every { 1..case.bytes.len() } else { 0..0 };
        let cut = |at: usize| vec![case.bytes[..at].to_vec(), case.bytes[at..].to_vec()];
        offsets.map(|at| (format!("{} cut at {at}", case.id), cut(at))).collect()
    })
}

fn check_cases(cuts: impl Fn(&Case) -> Vec<(String, Vec<Vec<u8>>)>) -> Outcome {
    let cases = load("response");
    for (id, why) in OUT_OF_REACH {
        skipped(&format!("{id}: {why}"));
    }
    let reachable = cases.iter().filter(|case| OUT_OF_REACH.iter().all(|(id, _)| *id != case.id));
    let runs = reachable.flat_map(|case| cuts(case).into_iter().map(move |(name, parts)| (name, (case, parts))));
    check_all(runs, |(case, parts)| check(case, parts))
}

/// One request more than the case answers shows what the client does with the connection.
fn check(case: &Case, parts: Vec<Vec<u8>>) -> Outcome {
    let script = Script { after_requests: case.outstanding, parts, eof: case.eof };
    let (requests, pipeline) = ((case.outstanding + 1).to_string(), case.outstanding.to_string());
    let (report, played) = play(&script, |addr| {
        let url = format!("http://{addr}/");
        let args = ["-c", "1", "-t", "1", "-n", &requests, "-p", &pipeline, "-m", &case.method];
        Report::of(&[&args[..], &["--timeout", TIMEOUT, &url]].concat())
    })?;
    judge(case, &report?, played)
}

fn judge(case: &Case, report: &Report, played: Played) -> Outcome {
    let expect = &case.expect;
    let failed = |class: &str| {
        // What the script has not answered fails with it; the request beyond it is answered on a new connection.
        let answered = expect["responses"].as_array().map_or(0, Vec::len);
        let counts = (report.class(class), report.completed(), played.connections);
        let due = ((case.outstanding - answered) as u64, 1 + answered as u64, 2);
        ensure!(counts == due, "{counts:?} instead of {due:?} {class}, completed, connections: {report:?}");
        Ok(())
    };
    match (expect["error"].as_str(), expect["partial"] == true) {
        (Some("unexpected-eof"), _) => failed("closed_early"),
        (Some(_), _) => failed("protocol"),
        (None, true) => failed("timeout"),
        (None, false) if OR_ERROR.contains(&case.id.as_str()) && report.class("protocol") > 0 => failed("protocol"),
        (None, false) => answered(case, report, played),
    }
}

fn answered(case: &Case, report: &Report, played: Played) -> Outcome {
    let status = &case.expect["status"];
    let responses = case.expect["responses"].as_array().cloned().unwrap_or_else(|| vec![status.clone()]);
    let mut statuses: Vec<u64> = responses.iter().filter_map(serde_json::Value::as_u64).collect();
    let unanswered = (case.outstanding - statuses.len()) as u64;
    statuses.push(200);
    for status in &statuses {
        let due = statuses.iter().filter(|other| *other == status).count() as u64;
        ensure!(
            report.status(*status) == due,
            "{} times {status} instead of {due}: {report:?}",
            report.status(*status)
        );
    }
    ensure!(report.class("closed_early") == unanswered, "{unanswered} requests are not answered: {report:?}");
    match case.expect["connection"].as_str() {
        Some("keep") => ensure!(played.connections == 1, "did not use the connection again: {played:?}"),
        Some("close") => ensure!(played.reused == 0, "used the connection again: {played:?}"),
        other => return fail!("unknown connection state {other:?}"),
    }
    Ok(())
}
