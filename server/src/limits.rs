//! Every bound of the server in one table: its flag, its key in the config file, its default, and what it says in `--help`.

use clap::Args;
use ringshot_uring::RingConfig;
use serde::{Deserialize, Serialize};

use crate::units::{Size, Time};

/// Makes two structs of one table: `$options` as flags and config file give it (nothing is set), `$resolved` with values.
macro_rules! settings {
    (
        $(#[$options_doc:meta])* $options:ident, $(#[$resolved_doc:meta])* $resolved:ident, $heading:literal,
        { $($field:ident: $type:ty = $default:literal, $value_name:literal, $help:literal;)* }
    ) => {
        $(#[$options_doc])*
        #[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $options {$(
            #[doc = $help]
            #[arg(long, value_name = $value_name, help_heading = $heading, hide_short_help = true,
                  help = concat!($help, " [default: ", $default, "]"))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        )*}

        $(#[$resolved_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $resolved {$(#[doc = $help] pub $field: $type,)*}

        impl $options {
            /// Takes each value from here, else from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Fills in the defaults.
            #[must_use]
            pub fn resolve(self) -> $resolved {
                let default = $resolved::default();
                $resolved { $($field: self.$field.unwrap_or(default.$field),)* }
            }
        }

        impl Default for $resolved {
            fn default() -> Self {
                Self { $($field: $default.parse().expect("a default of the table is well-formed"),)* }
            }
        }

        impl From<$resolved> for $options {
            fn from(resolved: $resolved) -> Self {
                Self { $($field: Some(resolved.$field),)* }
            }
        }
    };
}

settings! {
    /// Limits as given.
    LimitOptions,
    /// Limits in force.
    Limits, "Limits",
    {
        max_connections: u32 = "65536", "N", "Connections open at once, all workers together; more wait in the listen queue";
        max_head: Size = "64KiB", "SIZE", "Longest request head; a longer one is answered 431";
        max_target: Size = "16KiB", "SIZE", "Longest request target; a longer one is answered 414";
        max_fields: u16 = "100", "N", "Most header fields of a request; more are answered 431";
        max_body: Size = "1MiB", "SIZE", "Largest request body; a larger one is answered 413";
        max_pipeline: u32 = "1024", "N", "Most pipelined requests answered before their answers are sent";
        first_byte_timeout: Time = "10s", "TIME", "From accept to the first byte; then the connection is closed";
        head_timeout: Time = "10s", "TIME", "For a whole request head; then 408";
        body_timeout: Time = "1m", "TIME", "For a whole request body; then 408";
        idle_timeout: Time = "1m", "TIME", "Between two requests; then the connection is closed";
        write_timeout: Time = "30s", "TIME", "For a peer to take the next bytes of an answer; then the connection is reset";
        linger_timeout: Time = "2s", "TIME", "For a peer to close after our last answer";
        max_linger: Size = "256KiB", "SIZE", "Most bytes read and dropped while waiting for a peer to close";
        grace: Time = "10s", "TIME", "For what is in flight when the server is told to stop";
    }
}

settings! {
    /// Sizes of the ring engine as given.
    RingOptions,
    /// Sizes of the ring engine in force, for each worker.
    RingLimits, "Ring",
    {
        ring_entries: u32 = "1024", "N", "Submission queue entries";
        ring_completions: u32 = "16384", "N", "Completion queue entries";
        ring_buffers: u16 = "1024", "N", "Receive buffers, a power of two up to 32768";
        ring_buffer_size: Size = "4KiB", "SIZE", "Length of one receive buffer";
    }
}

impl Limits {
    /// The part of them that the codec holds.
    #[must_use]
    pub fn codec(&self) -> ringshot_http1::Limits {
        let cut = |size: Size| u32::try_from(size.0).unwrap_or(u32::MAX);
        ringshot_http1::Limits::DEFAULT
            .with_head(cut(self.max_head))
            .with_target(cut(self.max_target))
            .with_fields(self.max_fields)
            .with_body(self.max_body.0)
    }

    /// The shortest of the deadlines that a connection can be under: how often each has to be looked at.
    #[must_use]
    pub fn shortest_timeout_ns(&self) -> u64 {
        let all = [
            self.first_byte_timeout,
            self.head_timeout,
            self.body_timeout,
            self.idle_timeout,
            self.write_timeout,
            self.linger_timeout,
        ];
        all.into_iter().map(Time::as_ns).min().unwrap_or(u64::MAX)
    }
}

impl RingLimits {
    /// As the ring takes them.
    #[must_use]
    pub fn ring(&self) -> RingConfig {
        RingConfig {
            entries: self.ring_entries,
            cq_entries: self.ring_completions,
            buffers: self.ring_buffers,
            buffer_len_bytes: u32::try_from(self.ring_buffer_size.0).unwrap_or(u32::MAX),
            ..RingConfig::default()
        }
    }
}
