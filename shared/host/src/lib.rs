//! The machine: sockets, CPUs, clocks, limits and facts.
//!
//! Everything that a program asks of the kernel outside of the ring is here, as small functions on plain types. Readers of
//! `/proc` and `/sys` take the root of the file system as a parameter, so that tests bring a tree of their own.
//!
//! The modules in the order in which a starting worker meets them: [`affinity`] says how many workers and where, [`limits`]
//! lifts the open files, [`listen`] opens their listeners, [`sockopt`] looks at single sockets, [`clock`] reads the time,
//! [`wake`] and [`stop`] end it all, [`usage`] says what it cost and [`facts`] on which machine. The laboratory turns kernel
//! settings ([`knob`], [`setting`]) in a [`sandbox`] of its own, or of the host with a [`journal`] that outlives a crash.
#![deny(unsafe_code)]

pub mod affinity;
mod cgroup;
pub mod clock;
pub mod counters;
pub mod facts;
pub mod journal;
pub mod knob;
pub mod limits;
pub mod listen;
pub mod root;
pub mod sandbox;
pub mod setting;
pub mod sockopt;
mod steer;
pub mod stop;
mod sys;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tree;
pub mod usage;
pub mod wake;
