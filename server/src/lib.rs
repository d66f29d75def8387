//! A thread-per-core HTTP/1.1 server on io_uring, with epoll where that is refused.
//!
//! The modules in the order in which a request meets them: [`worker`] pins a thread and enters an [`engine`], which accepts
//! and receives; [`conn`] holds the life of a connection; [`session`] turns bytes into responses with the answers of [`app`];
//! the engine sends them. [`config`], [`routes`] and [`limits`] say what is in force, [`timers`], [`gate`] and [`wait`] decide
//! about time, [`tally`] holds what was counted.
//!
//! # Exit codes of the program
//!
//! | code | meaning |
//! |---|---|
//! | 0 | stopped as told (SIGTERM, SIGINT) |
//! | 2 | a flag, the config file or a route can't be used |
//! | 3 | the address is in use |
//! | 4 | no permission to listen there |
//! | 5 | io_uring was asked for and is refused here |
//! | 6 | the address can't be listened on for another reason |
//! | 7 | the machine has run out of something (threads, descriptors, memory) |

#![forbid(unsafe_code)]

pub mod app;
mod carry;
pub mod cli;
pub mod config;
pub mod conn;
pub mod date;
pub mod engine;
pub mod gate;
pub mod limits;
pub mod notice;
pub mod routes;
mod server;
pub mod session;
pub mod tally;
pub mod timers;
pub mod units;
pub mod wait;
pub mod worker;

pub use config::{Config, ConfigError};
pub use server::{Server, ServerError, Summary, WorkerSummary, run};
