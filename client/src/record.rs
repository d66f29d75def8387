//! What a thread writes down: samples, classes and their sums. Nothing here is shared while the run goes on.

use std::collections::BTreeMap;

use ringshot_stats::Histogram;
use ringshot_uring::Errno;
use serde::Serialize;

/// How a started request ended. Each ends in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Answered in full with a status of 200 to 299.
    Completed2xx,
    /// Answered in full with a status of 300 to 399.
    Completed3xx,
    /// Answered in full with a status of 400 to 499.
    Completed4xx,
    /// Answered in full with a status from 500 on (RFC 9110 section 15: what is beyond 599 counts as 5xx).
    Completed5xx,
    /// The connection that should carry it did not come about.
    Connect,
    /// The connection was reset, or failed in another way, before the answer was complete.
    Reset,
    /// The server closed the connection in good order before the answer was complete.
    ClosedEarly,
    /// What came was no HTTP/1.1 response.
    Protocol,
    /// Not answered in time.
    Timeout,
    /// In flight when the run ended.
    Cancelled,
}

impl Class {
    /// All classes, in the order of the report.
    pub const ALL: [Self; 10] = [
        Self::Completed2xx,
        Self::Completed3xx,
        Self::Completed4xx,
        Self::Completed5xx,
        Self::Connect,
        Self::Reset,
        Self::ClosedEarly,
        Self::Protocol,
        Self::Timeout,
        Self::Cancelled,
    ];

    /// The class of a response with this final status.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            0..300 => Self::Completed2xx,
            300..400 => Self::Completed3xx,
            400..500 => Self::Completed4xx,
            500.. => Self::Completed5xx,
        }
    }

    /// Whether the request was answered in full.
    #[must_use]
    pub const fn is_completed(self) -> bool {
        matches!(self, Self::Completed2xx | Self::Completed3xx | Self::Completed4xx | Self::Completed5xx)
    }

    /// The words of the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed2xx => "2xx",
            Self::Completed3xx => "3xx",
            Self::Completed4xx => "4xx",
            Self::Completed5xx => "5xx",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed early",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a request was not answered, within its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The kernel's error.
    Errno(i32),
    /// Our own words.
    Text(&'static str),
}

impl From<Errno> for Reason {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno.0)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // The number that the standard library appends ("(os error 111)") says nothing to a person.
            Self::Errno(number) => {
                let text = Errno(*number).to_string();
                f.write_str(text.split(" (os error").next().unwrap_or(&text))
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// What happened to connections, beside the requests on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionCounts {
    /// Connects begun, first ones and further ones.
    pub attempts: u64,
    /// Connects that succeeded.
    pub established: u64,
    /// Connects begun because an earlier connection of the same place had ended.
    pub reconnects: u64,
    /// Ended by the server between two requests, which is its right.
    pub idle_closed: u64,
    /// Ended after a response that said `Connection: close` (or because we asked for that).
    pub close_announced: u64,
    /// Ended because bytes came that no request had asked for.
    pub unsolicited: u64,
    /// Places given up after too many failures in a row (only in runs that are limited by a number of requests).
    pub given_up: u64,
}

impl ConnectionCounts {
    fn merge(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.established += other.established;
        self.reconnects += other.reconnects;
        self.idle_closed += other.idle_closed;
        self.close_announced += other.close_announced;
        self.unsolicited += other.unsolicited;
        self.given_up += other.given_up;
    }
}

/// First and last status with a counter of its own; RFC 9110 section 15 has no others.
const STATUSES: std::ops::RangeInclusive<u16> = 100..=999;

/// What one thread saw; [`Record::merge`] adds up several.
pub struct Record {
    /// Requests that have left the plan.
    pub started: u64,
    classes: [u64; Class::ALL.len()],
    statuses: Vec<u64>,
    reasons: BTreeMap<(Class, Reason), u64>,
    /// First byte handed to the kernel to last byte of the response, ns, of all completed requests.
    pub latency: Histogram,
    /// The same of those with a status from 400 on.
    pub latency_error: Histogram,
    /// Connect begun to connection established, ns.
    pub connect: Histogram,
    /// Age at the end, ns, of requests that were written and not answered (timed out, cut off, cancelled).
    pub unanswered: Histogram,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Bytes received: heads, bodies and framing.
    pub received_bytes: u64,
    /// Bytes of decoded bodies received.
    pub body_bytes: u64,
    /// Bytes that the kernel took from us.
    pub sent_bytes: u64,
    /// Interim responses (1xx) skipped.
    pub interim: u64,
    /// Completions of connections that had gone already.
    pub stale_completions: u64,
    /// When the first request was handed to the kernel.
    pub first_ns: Option<u64>,
    /// When the last response was complete.
    pub last_ns: Option<u64>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            started: 0,
            classes: [0; Class::ALL.len()],
            statuses: vec![0; STATUSES.len()],
            reasons: BTreeMap::new(),
            latency: Histogram::new(),
            latency_error: Histogram::new(),
            connect: Histogram::new(),
            unanswered: Histogram::new(),
            connections: ConnectionCounts::default(),
            received_bytes: 0,
            body_bytes: 0,
            sent_bytes: 0,
            interim: 0,
            stale_completions: 0,
            first_ns: None,
            last_ns: None,
        }
    }
}

impl Record {
    /// A request was answered in full after `latency_ns`.
    pub fn completed(&mut self, status: u16, latency_ns: u64) {
        self.classes[Class::of_status(status) as usize] += 1;
        if let Some(count) = self.statuses.get_mut(usize::from(status.saturating_sub(*STATUSES.start()))) {
            *count += 1;
        }
        self.latency.record(latency_ns);
        if status >= 400 {
            self.latency_error.record(latency_ns);
        }
    }

    /// A request ended without an answer. `age_ns` is how long ago it was handed to the kernel, if it was.
    pub fn failed(&mut self, class: Class, reason: Reason, age_ns: Option<u64>) {
        debug_assert!(!class.is_completed(), "a completed request has a status and a latency");
        self.classes[class as usize] += 1;
        *self.reasons.entry((class, reason)).or_default() += 1;
        if let Some(age_ns) = age_ns {
            self.unanswered.record(age_ns);
        }
    }

    /// Requests that ended in `class`.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    /// Requests that were answered in full.
    #[must_use]
    pub fn completed_total(&self) -> u64 {
        Class::ALL.into_iter().filter(|class| class.is_completed()).map(|class| self.count(class)).sum()
    }

    /// Requests that have ended, in whatever class. At the end of a run this equals `started`: the invariant of the report.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// Statuses seen and how often.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        STATUSES.zip(self.statuses.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// Reasons within the classes that have some, most frequent first within a class.
    #[must_use]
    pub fn reasons(&self) -> Vec<(Class, Reason, u64)> {
        let mut all: Vec<_> = self.reasons.iter().map(|((class, reason), count)| (*class, *reason, *count)).collect();
        all.sort_by_key(|(class, _, count)| (*class, u64::MAX - count));
        all
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| *mine += theirs);
        self.statuses.iter_mut().zip(&other.statuses).for_each(|(mine, theirs)| *mine += theirs);
        other.reasons.iter().for_each(|(key, count)| *self.reasons.entry(*key).or_default() += count);
        self.latency.merge(&other.latency);
        self.latency_error.merge(&other.latency_error);
        self.connect.merge(&other.connect);
        self.unanswered.merge(&other.unanswered);
        self.connections.merge(&other.connections);
        self.received_bytes += other.received_bytes;
        self.body_bytes += other.body_bytes;
        self.sent_bytes += other.sent_bytes;
        self.interim += other.interim;
        self.stale_completions += other.stale_completions;
        self.first_ns = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.last_ns = [self.last_ns, other.last_ns].into_iter().flatten().max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_are_listed_in_the_order_of_their_numbers() {
        for (at, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, at);
        }
    }

    #[test]
    fn statuses_have_their_class() {
        let cases = [
            (200, Class::Completed2xx),
            (299, Class::Completed2xx),
            (304, Class::Completed3xx),
            (404, Class::Completed4xx),
            (599, Class::Completed5xx),
            (999, Class::Completed5xx),
        ];
        for (status, class) in cases {
            assert_eq!(Class::of_status(status), class, "{status}");
        }
    }

    #[test]
    fn sums_survive_the_merge() {
        let (mut all, mut one) = (Record::default(), Record::default());
        for record in [&mut all, &mut one] {
            record.started = 5;
            record.completed(200, 1_000);
            record.completed(404, 3_000);
            record.failed(Class::Connect, Reason::Errno(111), None);
            record.failed(Class::Timeout, Reason::Text("no answer"), Some(9_000));
            record.failed(Class::Timeout, Reason::Text("other"), Some(9_000));
        }
        (all.first_ns, one.first_ns) = (Some(7), Some(3));
        (all.last_ns, one.last_ns) = (Some(70), Some(30));
        all.merge(&one);
        all.merge(&Record::default());
        assert_eq!((all.started, all.ended(), all.completed_total()), (10, 10, 4));
        assert_eq!(all.statuses().collect::<Vec<_>>(), [(200, 2), (404, 2)]);
        assert_eq!((all.latency.len(), all.latency_error.len(), all.unanswered.len()), (4, 2, 4));
        assert_eq!((all.first_ns, all.last_ns), (Some(3), Some(70)));
        assert_eq!(all.reasons()[0], (Class::Connect, Reason::Errno(111), 2));
        assert_eq!(all.reasons()[0].1.to_string(), "Connection refused");
    }
}
