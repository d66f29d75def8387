//! Why there is no report at all. Whatever a server does wrong is not here: that is in the report.

use ringshot_http1::encode::EncodeError;
use ringshot_uring::RingError;

use crate::config::ConfigError;

/// Why a run could not take place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The settings contradict themselves.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The request can't be written as HTTP/1.1.
    #[error("the request can't be sent: {0}")]
    Request(EncodeError),
    /// The host's name has no address.
    #[error("no address for `{host}`: {error}")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver said.
        error: std::io::Error,
    },
    /// The limit on descriptors is too low.
    #[error("{needed} descriptors are needed and {allowed} allowed; raise `ulimit -n` or lower -c")]
    Descriptors {
        /// For connections, rings and the like.
        needed: u64,
        /// RLIMIT_NOFILE.
        allowed: u64,
    },
    /// The kernel refuses a ring.
    #[error("{0}")]
    Ring(#[from] RingError),
    /// The kernel refuses a CPU.
    #[error("can't pin a thread to CPU {cpu}: {error}; `taskset -p $$` shows the CPUs that are allowed")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// The kernel refuses a thread or an eventfd.
    #[error("can't start a thread: {0}")]
    Thread(std::io::Error),
    /// A thread ended in a panic.
    #[error("a thread of this tool died; that is a fault of the tool, please report it")]
    Panicked,
}

impl ClientError {
    /// The exit code of the program: see its `--help`.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Request(_) => 2,
            _ => 3,
        }
    }
}
