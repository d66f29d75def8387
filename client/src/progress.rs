//! Progress on stderr, and only on a terminal. It reads counters; the threads that work don't know of it.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ringshot_stats::{Counter, format};

use crate::config::{Config, Limit};

/// How often the line is drawn anew; the end of the run is noticed as often.
const REDRAW: Duration = Duration::from_millis(100);

/// Shows progress until `is_over`. Returns at once when stderr is no terminal.
pub(crate) fn show_until(config: &Config, live: &[Arc<Counter>], is_over: impl Fn() -> bool) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let begun = Instant::now();
    let bar = bar(config);
    let mut before = (begun, 0);
    while !is_over() {
        std::thread::sleep(REDRAW);
        let (now, done) = (Instant::now(), live.iter().map(|counter| counter.get()).sum::<u64>());
        bar.set_position(match config.limit {
            Limit::Requests(_) => done,
            Limit::Duration(_) => begun.elapsed().as_millis() as u64,
        });
        let since_s = now.duration_since(before.0).as_secs_f64();
        if since_s >= 1.0 {
            bar.set_message(format::rate((done - before.1) as f64 / since_s));
            before = (now, done);
        }
    }
    bar.finish_and_clear();
}

fn bar(config: &Config) -> ProgressBar {
    let (length, template) = match config.limit {
        Limit::Requests(requests) => (requests, "{bar:40} {human_pos} of {human_len} requests  {msg}"),
        Limit::Duration(length) => (length.as_millis() as u64, "{bar:40} {elapsed}  {msg}"),
    };
    let bar = ProgressBar::new(length);
    // A template that can't be read would be a fault of ours; the default look is no reason to stop.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
