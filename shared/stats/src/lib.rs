//! Histograms, counters and the text of reports.
#![forbid(unsafe_code)]

mod counter;
pub mod format;
mod histogram;
pub mod page;
pub mod table;

pub use counter::Counter;
pub use histogram::Histogram;
