//! The seam between what is served and how the kernel is asked.
//!
//! An engine is chosen once per worker and owns its loop; nothing inside the loop asks which one it is. All of them obey:
//!
//! 1. It runs on the worker's thread until the stop is requested and the last connection is gone, or the grace time is over.
//! 2. It takes what the gate lets through from every listener. At the stop it first takes what the kernel has already
//!    queued for it, then closes the listeners: a connection that the kernel has completed is not reset.
//! 3. It reports to a connection what happens to its socket, and does what [`Conn::next`](crate::conn::Conn::next) hands
//!    out, in that order. It changes no state of a connection and interprets no byte.
//! 4. One send in flight per connection. A short send is continued, never dropped and never repeated.
//! 5. It reads the clocks once a batch, after the wait.
//! 6. Deadlines come from [`Timers`](crate::timers::Timers): no timer operation per request.
//! 7. A failure of one connection is a count and a close. A failure of the engine is an error, and the server ends.
//! 8. After warm-up it allocates nothing per request.

pub mod epoll;
#[cfg(test)]
mod tests;
#[cfg(feature = "tokio-uring")]
pub mod tokio_uring;
pub mod uring;

use ringshot_uring::RingError;

use crate::config::{Config, EngineChoice};
use crate::tally::Tally;
use crate::worker::Worker;

/// The engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// io_uring.
    Uring,
    /// epoll.
    Epoll,
    /// The tokio-uring crate.
    #[cfg(feature = "tokio-uring")]
    TokioUring,
}

impl Kind {
    /// As flags name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            #[cfg(feature = "tokio-uring")]
            Self::TokioUring => "tokio-uring",
        }
    }
}

/// Why an engine can't start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The ring is refused.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A call that only fails when the machine has run out of something.
    #[error("{call} failed: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl EngineError {
    pub(crate) fn call(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Call { call, source: errno.into() }
    }
}

/// Which engine `config` means on this machine; and of `auto`, why it is not the ring.
///
/// # Errors
/// When the ring was asked for and is refused.
pub fn choose(config: &Config) -> Result<(Kind, Option<RingError>), RingError> {
    match config.engine {
        EngineChoice::Epoll => Ok((Kind::Epoll, None)),
        EngineChoice::Uring => uring::probe(config).map(|()| (Kind::Uring, None)),
        #[cfg(feature = "tokio-uring")]
        EngineChoice::TokioUring => uring::probe(config).map(|()| (Kind::TokioUring, None)),
        EngineChoice::Auto => Ok(match uring::probe(config) {
            Ok(()) => (Kind::Uring, None),
            Err(why) => (Kind::Epoll, Some(why)),
        }),
    }
}

/// Serves until the worker is told to stop.
///
/// # Errors
/// When the engine can't start or go on.
pub fn run(kind: Kind, worker: Worker) -> Result<Tally, EngineError> {
    match kind {
        Kind::Uring => uring::run(worker),
        Kind::Epoll => epoll::run(worker),
        #[cfg(feature = "tokio-uring")]
        Kind::TokioUring => tokio_uring::run(worker),
    }
}
