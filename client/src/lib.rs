//! HTTP/1.1 load tool on io_uring: closed loop, exact counts, and a report that says what failed and what bound it.
//!
//! ```no_run
//! use ringshot_client::{Config, run};
//! use ringshot_host::stop::Stop;
//!
//! let mut config = Config::new("http://127.0.0.1:8080/")?;
//! config.connections = 64;
//! let report = run(config, Stop::new())?;
//! println!("{:?}", report.rate);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way of a request
//!
//! The modules in the order in which a request meets them: [`cli`] and [`config`] say what is wanted, [`target`] where it
//! goes; [`run`](mod@run) starts the threads, [`worker`] is one of them; [`engine`] owns its loop, [`plan`] decides when a
//! request should leave, [`conn`] is the connection that it leaves on, [`session`] reads the answer, [`record`] keeps the
//! sample; [`report`] and [`warn`] say what it all amounts to.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod conn;
pub mod engine;
mod error;
pub mod plan;
mod progress;
pub mod record;
pub mod report;
pub mod run;
pub mod session;
pub mod target;
pub mod ticks;
pub mod warn;
pub mod worker;

pub use config::{Config, ConfigError, Limit, WaitPolicy};
pub use error::ClientError;
pub use report::Report;
pub use run::run;
