//! What the end-to-end tests stand on: it starts and ends programs, speaks to them byte by byte, and reads their answers.
//!
//! Everything talks to the loopback interface and ends what it started by id. Waiting is always bounded, and no bound is a
//! stop-watch: only what hangs reaches one.

#![forbid(unsafe_code)]

pub mod cases;
pub mod failure;
pub mod parallel;
pub mod peers;
pub mod process;
pub mod programs;
pub mod raw;
pub mod report;
pub mod response;
pub mod scratch;
pub mod scripted;
