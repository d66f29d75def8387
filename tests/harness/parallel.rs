//! Many waits at once: most of a conversation over sockets is waiting, so cases run on more threads than cores.

use std::fmt::Display;
use std::sync::Mutex;

use crate::failure::{Failure, Outcome};

const THREADS: usize = 16;
const SHOWN_FAILURES: usize = 20;

/// Runs `check` on every case and reports all cases that fail, not just the first.
pub fn check_all<T, N>(cases: impl IntoIterator<Item = (N, T)>, check: impl Fn(T) -> Outcome + Sync) -> Outcome
where
    T: Send,
    N: Display + Send,
{
    let queue = Mutex::new(cases.into_iter().collect::<Vec<_>>().into_iter());
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((name, case)) = next(&queue) {
            if let Err(failure) = check(case) {
                failures.lock().expect("no check panics").push(failure.within(name).to_string());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    report(failures.into_inner().expect("no check panics"))
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().expect("no check panics").next()
}

fn report(mut failures: Vec<String>) -> Outcome {
    if failures.is_empty() {
        return Ok(());
    }
    failures.sort();
    let count = failures.len();
    failures.truncate(SHOWN_FAILURES);
    Err(Failure::new(format!("{count} cases failed\n  {}", failures.join("\n  "))))
}
