//! What a reader of a report must know before believing it: each with its next step.

use serde::Serialize;

use crate::record::Class;
use crate::report::{Ending, Report};

/// A connect that took this long lost its SYN: Linux repeats it after 1 s, then after 3 s in all, and so on.
const SYN_RETRY_NS: u64 = 950_000_000;
/// Below this part of the requests that should be in flight, they were somewhere else.
const IN_FLIGHT_LOW: f64 = 0.5;

/// A warning; its text stands in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A name that does not change.
    pub code: &'static str,
    /// One or two sentences: what is the case, and what to do.
    pub text: String,
}

fn warning(code: &'static str, text: impl Into<String>) -> Option<Warning> {
    Some(Warning { code, text: text.into() })
}

/// All that apply, the weightiest first.
#[must_use]
pub fn all(report: &Report) -> Vec<Warning> {
    let checks = [
        unbalanced,
        interrupted,
        gave_up,
        nothing_completed,
        failures,
        error_statuses,
        tool_bound,
        starved,
        pipelined_close,
        ports,
        descriptors,
        syn_retries,
        low_in_flight,
        overflows,
    ];
    checks.into_iter().filter_map(|check| check(report)).collect()
}

fn unbalanced(report: &Report) -> Option<Warning> {
    if report.requests.balanced {
        return None;
    }
    warning("unbalanced", "The sums do not balance: a fault of this tool. Believe no figure of this report.")
}

fn interrupted(report: &Report) -> Option<Warning> {
    if report.ending != Ending::Interrupted {
        return None;
    }
    warning("interrupted", "The run was ended early: this report covers only what was done until then.")
}

fn gave_up(report: &Report) -> Option<Warning> {
    if report.ending != Ending::GaveUp {
        return None;
    }
    let never = report.requests.never_started.unwrap_or(0);
    warning(
        "gave_up",
        format!(
            "Connections failed too often in a row and were given up; {never} planned requests were never started."
        ),
    )
}

fn nothing_completed(report: &Report) -> Option<Warning> {
    if report.requests.completed > 0 {
        return None;
    }
    let most = report.reasons.iter().max_by_key(|reason| reason.count);
    let why = most.map_or_else(String::new, |most| format!(" Mostly: {}, {}.", most.class.name(), most.reason));
    warning(
        "nothing_completed",
        format!("No request was answered.{why} Is {} the right server?", report.settings.address),
    )
}

fn failures(report: &Report) -> Option<Warning> {
    if report.requests.failed == 0 || report.requests.completed == 0 {
        return None;
    }
    let part = report.requests.failed as f64 * 100.0 / report.requests.started as f64;
    warning("failures", format!("{part:.3} % of the requests failed. Their time is not in the latency."))
}

fn error_statuses(report: &Report) -> Option<Warning> {
    let count = report.count(Class::Completed4xx) + report.count(Class::Completed5xx);
    if count == 0 {
        return None;
    }
    let part = count as f64 * 100.0 / report.requests.completed as f64;
    warning(
        "error_statuses",
        format!("{part:.3} % of the responses were 4xx or 5xx. They are part of rate and latency."),
    )
}

fn tool_bound(report: &Report) -> Option<Warning> {
    if !report.tool.near_limit {
        return None;
    }
    warning(
        "tool_bound",
        "A thread of this tool was near its limit: the server may be faster. Use more threads or CPUs (-t).",
    )
}

fn starved(report: &Report) -> Option<Warning> {
    if report.connections.starved == 0 || report.requests.completed == 0 {
        return None;
    }
    let (starved, all) = (report.connections.starved, report.connections.requested);
    warning("starved", format!("{starved} of {all} connections got no response: the load was not what was asked for."))
}

fn pipelined_close(report: &Report) -> Option<Warning> {
    let closed = report.connections.counts.close_announced;
    if report.settings.pipeline == 1 || closed == 0 || report.count(Class::ClosedEarly) == 0 {
        return None;
    }
    warning(
        "pipelined_close",
        format!(
            "The server announced the close of {closed} connections with requests behind it, which it does not serve. Raise \
             its requests per connection (nginx: keepalive_requests)."
        ),
    )
}

fn reason_is(report: &Report, errno: i32) -> bool {
    let words = crate::record::Reason::Errno(errno).to_string();
    report.reasons.iter().any(|reason| reason.reason == words)
}

fn ports(report: &Report) -> Option<Warning> {
    if !reason_is(report, libc::EADDRNOTAVAIL) {
        return None;
    }
    warning(
        "ports",
        "Local ports ran out: closed connections keep theirs for a minute. Keep connections alive, or widen \
         net.ipv4.ip_local_port_range.",
    )
}

fn descriptors(report: &Report) -> Option<Warning> {
    if !reason_is(report, libc::EMFILE) {
        return None;
    }
    warning("descriptors", "Descriptors ran out. Raise `ulimit -n` or lower -c.")
}

fn syn_retries(report: &Report) -> Option<Warning> {
    if report.connect.as_ref().is_none_or(|connect| connect.max_ns < SYN_RETRY_NS) {
        return None;
    }
    warning(
        "syn_retries",
        "Connects took a second or more: SYNs were dropped and repeated. The server's listen backlog was full; see its \
         listen(2) backlog, net.core.somaxconn, and `nstat -z TcpExtListenOverflows`.",
    )
}

fn low_in_flight(report: &Report) -> Option<Warning> {
    let mean = report.in_flight.mean?;
    let requested = report.in_flight.requested as f64;
    if mean >= requested * IN_FLIGHT_LOW || !report.settings.keep_alive {
        return None;
    }
    warning(
        "low_in_flight",
        format!(
            "On average {mean:.1} requests were in flight, not {requested}: time went into connecting, pausing after \
             failures, or this tool."
        ),
    )
}

fn overflows(report: &Report) -> Option<Warning> {
    if report.tool.cq_overflows == 0 {
        return None;
    }
    warning(
        "cq_overflow",
        "The completion queue overflowed: latencies include this tool's own queue. Use more threads.",
    )
}
