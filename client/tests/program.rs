//! The program itself: exit codes, both forms of the report, ^C.

mod common;

use std::process::{Command, Output, Stdio};

use common::{OK, Server, refusing, wait_for};
use serde_json::Value;

fn client(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringshot-client"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(args: &[&str]) -> (i32, String, String) {
    text(client(args).output().expect("starts"))
}

fn text(output: Output) -> (i32, String, String) {
    let words = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), words(output.stdout), words(output.stderr))
}

#[test]
fn a_good_run_fits_the_terminal_and_exits_0() {
    let long = format!("{}?{}", Server::answering(OK).url(), "x".repeat(200));
    let (code, report, progress) = output(&["-c", "2", "-t", "1", "-n", "100", &long]);
    assert_eq!((code, progress.as_str()), (0, ""), "no terminal, no progress");
    for line in report.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    for words in [
        "100 planned = 100 started + 0 never started",
        "100 completed + 0 failed",
        "200: 100",
        "p99.9",
        "CLOCK_MONOTONIC",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn each_kind_of_failure_has_its_exit_code() {
    let (answering, refusing) = (Server::answering(OK).url(), refusing());
    let missing = Server::answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").url();
    let few = ["-c", "1", "-n", "3"];
    let cases: [(&[&str], i32, &str); 8] = [
        (&["https://localhost/"], 2, "https is not supported"),
        (&["-x"], 2, "unexpected argument"),
        (&["-c", "10", "-n", "3", &answering], 2, "-n 3 is fewer than -c 10"),
        (&["-H", "Content-Length: 3", &answering], 2, "is written by the tool itself"),
        (&["-H", "A: b\r\nC: d", &answering], 2, "the request can't be sent"),
        (&["http://no-such-host.invalid/"], 3, "no address for `no-such-host.invalid`"),
        (&[&few[..], &[&refusing]].concat(), 4, ""),
        (&[&few[..], &[&missing]].concat(), 1, ""),
    ];
    for (args, code, words) in cases {
        let (got, report, errors) = output(args);
        assert_eq!(got, code, "{args:?}: {report}{errors}");
        assert!(errors.contains(words), "{args:?}: {errors}");
        assert_eq!(report.is_empty(), code == 2 || code == 3, "{args:?}: {report}");
        assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    }
}

#[test]
fn json_is_one_object_on_stdout() {
    let (code, report, _) =
        output(&["-c", "2", "-t", "2", "-n", "50", "-p", "3", "--format", "json", &Server::answering(OK).url()]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((code, &report["requests"]["completed"], &report["settings"]["pipeline"]), (0, &50.into(), &3.into()));
}

#[test]
fn an_interrupt_ends_early_with_a_report_that_says_so() {
    let (server, waiting) = Server::answering_once();
    for (at, signal) in ["-INT", "-TERM"].into_iter().enumerate() {
        let child =
            client(&["-c", "3", "-t", "1", "-d", "10m", "--timeout", "10m", &server.url()]).spawn().expect("starts");
        wait_for(&waiting, 3 * (at + 1));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill").success());
        let (code, report, _) = text(child.wait_with_output().expect("ends"));
        assert_eq!(code, 130, "{report}");
        assert!(report.contains("PARTIAL") && report.contains("cancelled 3"), "{report}");
    }
}

#[test]
fn pinned_threads_spin_or_adapt_and_still_count_right() {
    let url = Server::answering(OK).url();
    for wait in ["block", "spin", "adaptive"] {
        let (code, report, errors) =
            output(&["-c", "2", "-t", "1", "-n", "200", "--cpus", "0", "--wait", wait, "--format", "json", &url]);
        assert_eq!(code, 0, "{errors}");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!((&report["requests"]["completed"], &report["tool"]["threads"][0]["cpu"]), (&200.into(), &0.into()));
    }
}
