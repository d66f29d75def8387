//! The laboratory: runs servers and load tools against each other and says what each is worth.
//!
//! [`cli`] has the sub-commands and the exit codes, [`pair`] drives our own server with our own client,
//! [`speed`] compares both with nginx and wrk.
#![forbid(unsafe_code)]

pub mod cli;
pub mod error;
pub mod pair;
pub mod programs;
pub mod speed;
