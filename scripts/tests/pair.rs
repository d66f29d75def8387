//! The pair as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringshot_host::affinity::{allowed_cpus, pin_thread};
use serde_json::Value;

/// Only what hangs waits this long.
const HANGS_AFTER: Duration = Duration::from_secs(60);

fn lab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringshot-lab"));
    command.stdin(Stdio::null());
    command
}

fn pair(options: &[&str]) -> Output {
    lab().arg("pair").args(options).output().expect("the lab can be started")
}

#[track_caller]
fn report(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

#[test]
fn a_pair_reports_itself() {
    for options in [&["--wait", "block"][..], &["--pipeline", "16"], &["--wait", "adaptive", "--connections", "1"]] {
        let report = report(&pair(&[&["--duration", "300ms", "--format", "json"], options].concat()));
        let requests = &report["requests"];
        assert!(requests["completed"].as_u64() > Some(0) && requests["balanced"] == true, "{options:?}: {requests}");
        assert_eq!((&requests["failed"], &requests["refused"]), (&0.into(), &0.into()), "{options:?}");
        assert_eq!(report["connections"]["accepted"], report["connections"]["on_own_core"], "{options:?}");
        assert!(report["cpu_per_request"]["server_ns"].as_f64() > Some(0.0), "{options:?}");
        assert_eq!(report["client"]["requests"]["completed"], requests["completed"], "{options:?}");
    }
}

#[test]
fn the_text_has_every_part() {
    let output = pair(&["--duration", "200ms", "--warmup", "0s", "--connections", "7"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let labels = [
        "Pair",
        "Requests/s",
        "Requests",
        "Latency",
        "CPU/request",
        "Connections",
        "Bound by",
        "Server",
        "Client",
        "Machine",
    ];
    for label in labels {
        assert!(text.lines().any(|line| line.split("  ").next() == Some(label)), "no {label}:\n{text}");
    }
    assert!(text.contains("7 of 7 served on the core"), "{text}");
}

#[test]
fn one_core_is_told_that_it_can_not_be_split() {
    let cpu = allowed_cpus().unwrap().0[0];
    // A process inherits the CPUs of the thread that starts it.
    let on_one_core = move || {
        pin_thread(cpu).unwrap();
        pair(&["--placement", "split"])
    };
    let output = thread::spawn(on_one_core).join().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("colocated"), "{output:?}");
}

#[test]
fn neither_end_outlives_the_lab() {
    let mut lab = lab().args(["pair", "--duration", "1h"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("both ends run", || children(lab.id()).len() == 2);
    let ends = children(lab.id());
    // Not even the chance to tidy up.
    lab.kill().unwrap();
    lab.wait().unwrap();
    wait_until("both ends have ended", || ends.iter().all(|pid| is_gone(*pid)));
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().map(|pid| pid.parse().expect("a list of ids")).collect()
}

/// A process that has ended but that nobody has waited for yet shows as a zombie.
fn is_gone(pid: u32) -> bool {
    let status = Path::new("/proc").join(pid.to_string()).join("status");
    fs::read_to_string(status).map_or(true, |text| text.contains("State:\tZ"))
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + HANGS_AFTER;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {HANGS_AFTER:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
