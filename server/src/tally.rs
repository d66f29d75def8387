//! What a worker counted. Plain numbers that only their worker writes; added up after the workers have ended.

use serde::Serialize;

/// Defines structs of event counters together with the addition of two of them, so that no field can be forgotten.
macro_rules! counters {
    ($($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl $name {
            /// Adds the counts of another worker.
            pub fn absorb(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }
    )*};
}

counters! {
    /// Connections by what became of them.
    pub struct Connections {
        /// Taken from a listener's queue.
        accepted,
        /// Closed, for whatever reason.
        closed,
        /// Accepted ones whose packets arrive on the CPU that the worker is pinned to (SO_INCOMING_CPU).
        on_own_cpu,
        /// Times that accepting paused because `max_connections` were open.
        full,
        /// Times that accepting paused because descriptors or memory had run out.
        accept_refused,
        /// Connections that the grace time cut off.
        cut,
    }

    /// Responses by status class.
    pub struct Responses {
        /// 1xx: only 100 (Continue) is ever sent.
        informational,
        /// 2xx.
        success,
        /// 3xx.
        redirection,
        /// 4xx.
        client_error,
        /// 5xx.
        server_error,
    }

    /// What ended a connection, or a request, other than as the peer wished.
    pub struct Errors {
        /// The codec refused the request; it was answered once and the connection closed.
        protocol,
        /// The peer ended in the middle of a request.
        torn,
        /// No first byte within `first_byte_timeout`.
        first_byte_timeout,
        /// No next request within `idle_timeout`: a normal end of a kept-alive connection.
        idle_timeout,
        /// No complete head within `head_timeout`.
        head_timeout,
        /// No complete body within `body_timeout`.
        body_timeout,
        /// The peer took no byte of a response for `write_timeout`.
        write_timeout,
        /// The peer sent more than the bound while it did not read its answers.
        overrun,
        /// The peer reset the connection.
        reset,
        /// Any other error of the connection's socket.
        socket,
    }

    /// Bytes of connections.
    pub struct Traffic {
        /// Received.
        received,
        /// Sent.
        sent,
    }

    /// What the engine saw. Fields that an engine has no use for stay 0.
    pub struct EngineCounts {
        /// System calls that waited for events.
        waits,
        /// Events or completions handled.
        events,
        /// Completions of connections that were gone; dropped.
        stale,
        /// Connections parked because no receive buffer was free.
        parked,
        /// Overflows of the completion queue; nothing was lost.
        cq_overflows,
        /// Submissions that waited because the submission queue was full.
        sq_full,
        /// Sends that took a part only and were continued.
        short_sends,
    }
}

impl Responses {
    /// Counts one response.
    #[inline]
    pub fn add(&mut self, status: u16) {
        match status / 100 {
            1 => self.informational += 1,
            2 => self.success += 1,
            3 => self.redirection += 1,
            4 => self.client_error += 1,
            _ => self.server_error += 1,
        }
    }
}

/// All that one worker counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Request heads that were complete and well-formed.
    pub requests: u64,
    /// Responses written.
    pub responses: Responses,
    /// Connections.
    pub connections: Connections,
    /// Most connections open at once. Of several workers: the sum of their peaks, which need not have met.
    pub peak_connections: u64,
    /// Errors.
    pub errors: Errors,
    /// Bytes.
    pub traffic: Traffic,
    /// The engine's own counts.
    pub engine: EngineCounts,
    /// CPU time of the worker's thread, user and system.
    pub cpu_ns: u64,
}

impl Tally {
    /// Adds another worker's tally.
    pub fn absorb(&mut self, other: &Self) {
        self.requests += other.requests;
        self.responses.absorb(&other.responses);
        self.connections.absorb(&other.connections);
        self.peak_connections += other.peak_connections;
        self.errors.absorb(&other.errors);
        self.traffic.absorb(&other.traffic);
        self.engine.absorb(&other.engine);
        self.cpu_ns += other.cpu_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let mut responses = Responses::default();
        for status in [100, 200, 204, 301, 404, 405, 408, 500, 505] {
            responses.add(status);
        }
        let expected = Responses { informational: 1, success: 2, redirection: 1, client_error: 3, server_error: 2 };
        assert_eq!(responses, expected);
    }

    #[test]
    fn sums_take_every_field() {
        let one = Tally {
            requests: 1,
            responses: Responses { success: 1, ..Responses::default() },
            connections: Connections { accepted: 1, ..Connections::default() },
            peak_connections: 1,
            errors: Errors { torn: 1, ..Errors::default() },
            traffic: Traffic { received: 1, sent: 1 },
            engine: EngineCounts { stale: 1, ..EngineCounts::default() },
            cpu_ns: 1,
        };
        let mut sum = one.clone();
        sum.absorb(&one);
        let text = toml::to_string(&sum).expect("plain numbers");
        let twos = text.lines().filter(|line| line.ends_with("= 2")).count();
        assert_eq!(twos, 9, "{text}");
        assert!(!text.contains("= 1"), "{text}");
    }
}
