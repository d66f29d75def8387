//! The report for people: 80 columns, what was asked for first, what to know last.

use ringshot_stats::format;
use ringshot_stats::page::Page;

use super::{CLOCK, Distribution, Ending, MEASURED, NEAR_LIMIT_PERCENT, Rate, Report, WINDOW};
use crate::record::Class;

/// Width of the report.
pub const COLUMNS: usize = 80;
const LABEL_COLUMNS: usize = 13;

/// The whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = Page::new(COLUMNS, LABEL_COLUMNS);
    head(&mut page, report);
    speed(&mut page, report);
    accounts(&mut page, report);
    tool(&mut page, report);
    meaning(&mut page, report);
    for warning in &report.warnings {
        page.line("");
        page.row("Note", &warning.text);
    }
    page.to_string()
}

fn head(page: &mut Page, report: &Report) {
    let settings = &report.settings;
    page.row("Target", &format!("{} {}", settings.method, settings.url));
    page.row(
        "Address",
        &match settings.addresses_found {
            1 => settings.address.clone(),
            found => format!("{}, the first of {found} found", settings.address),
        },
    );
    let length = match (settings.requests, settings.duration_ns) {
        (Some(requests), _) => format!("{} requests", format::count(requests)),
        (None, length_ns) => format::duration_ns(length_ns.unwrap_or(0)),
    };
    let keep_alive = if settings.keep_alive { "keep-alive" } else { "one request per connection" };
    let load = format!(
        "{length}, {} connections, {} threads, {} in flight each, {keep_alive}, timeout {}",
        format::count(settings.connections.into()),
        settings.threads,
        settings.pipeline,
        format::duration_ns(settings.timeout_ns),
    );
    page.row("Load", &load);
    let partial = match report.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("the run was ended early"),
        Ending::GaveUp => Some("the run was given up: nothing succeeded any more"),
    };
    if let Some(words) = partial {
        page.row("PARTIAL", words);
    }
    page.line("");
}

fn speed(page: &mut Page, report: &Report) {
    let rate = report.rate.map_or_else(|| "none: no response came".to_owned(), rate_words);
    page.row("Rate", &rate);
    let transfer = &report.transfer;
    let per_s = report.rate.map(|rate| format!(" ({}/s)", format::bytes(rate.received_bytes_per_s as u64)));
    let received = format::bytes(transfer.received_bytes);
    let sent = format::bytes(transfer.sent_bytes);
    page.row("Transfer", &format!("{received} received{}, {sent} sent", per_s.unwrap_or_default()));
    page.line("");
    distribution(page, "Latency", report.latency.as_ref());
    if report.latency_error.is_some() {
        distribution(page, "  4xx, 5xx", report.latency_error.as_ref());
    }
    distribution(page, "Connect", report.connect.as_ref());
    if report.unanswered_age.is_some() {
        distribution(page, "Unanswered", report.unanswered_age.as_ref());
    }
    page.line("");
}

fn rate_words(rate: Rate) -> String {
    let all = format::rate(rate.requests_per_s);
    if rate.ok_per_s < rate.requests_per_s {
        return format!("{all} responses, of which {} with 2xx or 3xx", format::rate(rate.ok_per_s));
    }
    format!("{all} responses")
}

/// One table for all distributions would need their columns aligned to the widest; two lines each read as well.
fn distribution(page: &mut Page, label: &str, distribution: Option<&Distribution>) {
    let Some(samples) = distribution else {
        page.row(label, "no samples");
        return;
    };
    let cell = |name: &str, ns: u64| format!("{name:<6}{:>11}", format::duration_ns(ns));
    let line = |cells: &[String]| cells.join("    ");
    let indent = " ".repeat(LABEL_COLUMNS);
    let first = [cell("mean", samples.mean_ns as u64), cell("p50", samples.at(0.5)), cell("p99", samples.at(0.99))];
    let second = [cell("sd", samples.sd_ns as u64), cell("p90", samples.at(0.9)), cell("p99.9", samples.at(0.999))];
    let third =
        [cell("min", samples.min_ns), cell("max", samples.max_ns), format!("n {}", format::count(samples.count))];
    page.line(&format!("{label:LABEL_COLUMNS$}{}", line(&first)));
    page.line(&format!("{indent}{}", line(&second)));
    page.line(&format!("{indent}{}", line(&third)));
}

fn accounts(page: &mut Page, report: &Report) {
    let requests = &report.requests;
    let count = format::count;
    if let (Some(planned), Some(never)) = (requests.planned, requests.never_started) {
        let sum = format!(
            "{} planned = {} started + {} never started",
            count(planned),
            count(requests.started),
            count(never)
        );
        page.row("Requests", &sum);
    }
    let label = if requests.planned.is_some() { "" } else { "Requests" };
    let (completed, failed, cancelled) = (count(requests.completed), count(requests.failed), count(requests.cancelled));
    let started = count(requests.started);
    page.row(label, &format!("{started} started = {completed} completed + {failed} failed + {cancelled} cancelled"));
    let statuses: Vec<String> =
        report.statuses.iter().map(|entry| format!("{}: {}", entry.status, count(entry.count))).collect();
    page.row("Statuses", &if statuses.is_empty() { "none".to_owned() } else { statuses.join(", ") });
    errors(page, report);
    let connections = &report.connections;
    let counts = &connections.counts;
    let ends = [
        (counts.reconnects, "opened anew"),
        (counts.close_announced, "closed as announced"),
        (counts.idle_closed, "closed while idle"),
        (counts.unsolicited, "ended for surplus bytes"),
        (counts.given_up, "given up"),
    ];
    let ends: String =
        ends.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!(", {} {words}", count(*n))).collect();
    let established = count(counts.established);
    page.row(
        "Connections",
        &format!("{} asked for, {established} established{ends}", count(connections.requested.into())),
    );
    let (min, median, max) = (connections.answered_min, connections.answered_median, connections.answered_max);
    page.row("", &format!("responses each: min {}, median {}, max {}", count(min), count(median), count(max)));
    if let Some(mean) = report.in_flight.mean {
        let requested = count(report.in_flight.requested);
        page.row("In flight", &format!("{mean:.1} requests on average, {requested} asked for (rate x mean latency)"));
    }
    page.line("");
}

/// Every class that is no completion, with zeros: that nothing timed out is worth knowing.
fn errors(page: &mut Page, report: &Report) {
    let classes = Class::ALL.into_iter().filter(|class| !class.is_completed());
    let all: Vec<String> =
        classes.map(|class| format!("{} {}", class.name(), format::count(report.count(class)))).collect();
    page.row("Unanswered", &all.join(", "));
    for reason in &report.reasons {
        page.row("", &format!("- {}: {}: {}", reason.class.name(), reason.reason, format::count(reason.count)));
    }
}

fn tool(page: &mut Page, report: &Report) {
    let tool = &report.tool;
    let per_request = tool.cpu_per_request_ns.map_or_else(
        || "no response to divide by".to_owned(),
        |ns| format!("{} per completed request", format::duration_ns(ns as u64)),
    );
    page.row("Tool CPU", &format!("{per_request}, {} in all", format::duration_ns(tool.cpu_ns)));
    let shown = tool.threads.iter().take(THREADS_SHOWN).map(|thread| {
        let pinned = thread.cpu.map_or_else(String::new, |cpu| format!(" (CPU {cpu})"));
        let spinning = match thread.idle_spin_ns {
            0 => String::new(),
            spun_ns => format!(" and {:.0} % spinning", spun_ns as f64 * 100.0 / thread.wall_ns.max(1) as f64),
        };
        format!("{:.0} % busy{spinning}{pinned}", thread.busy_percent)
    });
    let more = tool.threads.len().saturating_sub(THREADS_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verdict = if tool.near_limit { "NEAR THE LIMIT" } else { "not near the limit" };
    let busy = shown.collect::<Vec<_>>().join(", ");
    page.row("Threads", &format!("{busy}{more}: {verdict} ({NEAR_LIMIT_PERCENT:.0} %)"));
    page.line("");
}

/// Threads whose load the text form lists; the JSON form lists all.
const THREADS_SHOWN: usize = 16;

fn meaning(page: &mut Page, report: &Report) {
    page.row("Measured", MEASURED);
    let window = report.window_ns.map(|window_ns| format!("{}, {WINDOW}", format::duration_ns(window_ns)));
    page.row("Window", window.as_deref().unwrap_or("none: no response came"));
    page.row("Clock", CLOCK);
    page.row("Excluded", EXCLUDED_TEXT);
}

/// `super::EXCLUDED` in the words of this form.
const EXCLUDED_TEXT: &str = "requests without a complete response; their ages are under Unanswered";
