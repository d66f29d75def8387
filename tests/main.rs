//! End-to-end tests: the real programs, driven over sockets and by other people's tools.
//!
//! A peer that is not installed (`curl`, `ab`, `wrk`, `nginx`) makes its tests print a line that names what they skipped;
//! with `CI=true` in the environment it makes them fail. `RINGSHOT_TEST_SCALE=100` asks for the full number of requests,
//! of which a debug build otherwise sends a fifth.

#![forbid(unsafe_code)]

mod behaviour;
mod cli;
mod client;
mod client_conformance;
mod conformance;
mod ends;
mod faults;
mod leaks;
mod limits;
mod load;
mod shapes;
