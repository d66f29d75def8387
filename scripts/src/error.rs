//! Why there is no report.

use std::io;

use thiserror::Error;

/// What keeps the lab from measuring. What goes wrong while it measures is in the report instead.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabError {
    /// The options can't be met on this machine.
    #[error("{0}")]
    Usage(String),
    /// A program can't be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program says that it can't do its part.
    #[error("{program}: {message}")]
    Refused {
        /// Its name.
        program: String,
        /// What it said.
        message: String,
        /// The exit code that it would have ended with.
        exit_code: u8,
    },
    /// A program ended before its part was done.
    #[error("{program} ended early, {status}; what it wrote to stderr says why")]
    Ended {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
    },
    /// A program says nothing.
    #[error("{program} gave no answer within {within_s} s and was ended")]
    Silent {
        /// Its name.
        program: String,
        /// How long it was waited for.
        within_s: u64,
    },
    /// A load tool prints something else than its report.
    #[error("this is no report of a load tool: {text}")]
    Report {
        /// The first lines of it.
        text: String,
    },
    /// Something of the machine can't be read or done.
    #[error("{action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl LabError {
    /// For `map_err`: what was tried when the kernel refused.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// The exit code, as [`crate::cli`] lists them.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Refused { exit_code: 2, .. } => 2,
            _ => 3,
        }
    }
}
