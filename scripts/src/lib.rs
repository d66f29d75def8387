//! The laboratory: runs servers and load tools against each other and says what each is worth.
//!
//! [`cli`] has the sub-commands and the exit codes, [`pair`] drives our own server with our own client,
//! [`speed`] compares both with nginx and wrk, [`knobs`]
//! turns kernel settings and undoes them, [`doctor`] says what this machine is.
#![forbid(unsafe_code)]

pub mod cli;
pub mod doctor;
pub mod error;
pub mod knobs;
pub mod pair;
pub mod programs;
pub mod speed;
