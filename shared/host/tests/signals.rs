//! Signals end a process as `stop` says. The process is this test binary itself, running its ignored test.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use ringshot_host::stop::{EXIT_INTERRUPTED, Stop, on_signals};
use ringshot_host::wake::Waker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

#[test]
#[ignore = "runs as the process that the other test signals"]
fn waits_for_signals() {
    let (stop, waker) = (Stop::new(), Waker::new().unwrap());
    stop.register(waker.clone());
    on_signals(&stop).unwrap();
    println!("ready");
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    poll(&mut [PollFd::new(&waker.fd(), PollFlags::IN)], Some(&limit)).unwrap();
    println!("stop requested: {}", stop.is_requested());
    // In flight is something that takes for ever.
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn the_first_signal_asks_and_the_second_insists() {
    for signals in [[Signal::TERM, Signal::TERM], [Signal::INT, Signal::TERM], [Signal::INT, Signal::INT]] {
        let (mut child, mut lines) = start();
        wait_for(&mut lines, "ready");
        kill(&child, signals[0]);
        wait_for(&mut lines, "stop requested: true");
        assert_eq!(child.try_wait().unwrap(), None);
        kill(&child, signals[1]);
        assert_eq!(child.wait().unwrap().code(), Some(EXIT_INTERRUPTED), "{signals:?}");
    }
}

fn start() -> (Child, Lines<BufReader<ChildStdout>>) {
    let program = std::env::current_exe().expect("a running test has a path");
    let mut command = Command::new(program);
    command.args(["--exact", "waits_for_signals", "--ignored", "--nocapture"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the test starts again");
    let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    (child, lines)
}

#[track_caller]
fn wait_for(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) {
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains(text))), "the process ended without saying {text:?}");
}

fn kill(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the process is ours");
}
