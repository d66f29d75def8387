//! The seam between a thread and its event loop. It lies above the loop, not around each operation: completions and
//! readiness don't have the same shape; bytes do.
//!
//! What every engine keeps to:
//! - It opens exactly as many connections as the thread has, and keeps to [`crate::plan::Plan`] for every request.
//! - Every request that it takes from the plan ends in exactly one [`crate::record::Class`], also when it is stopped.
//! - A request departs at the clock reading right before the call that hands it to the kernel, and has arrived at the one
//!   reading that is made per batch of events.
//! - It returns only when the kernel holds nothing of it any more.

mod idle;
mod lifecycle;
#[cfg(test)]
mod sim_tests;
pub mod uring;

use ringshot_uring::{Ring, RingConfig, RingError};

use crate::record::Record;
use crate::worker::Worker;

/// The engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// io_uring: multishot receive into a buffer ring.
    #[default]
    Uring,
}

/// What an engine hands back.
pub struct Outcome {
    /// What the thread saw.
    pub record: Record,
    /// Time spent in polls that found nothing, by which a spinning thread's CPU time overstates its work.
    pub idle_spin_ns: u64,
    /// Responses of each connection.
    pub answered: Vec<u64>,
    /// What the ring counted.
    pub counters: ringshot_uring::Counters,
}

/// An engine that has all it needs of the kernel and has not begun.
pub enum Ready {
    /// See [`Kind::Uring`].
    Uring(Box<uring::Engine<Ring>>),
}

/// Sets an engine up on the calling thread.
///
/// # Errors
/// When the kernel refuses a ring.
pub fn prepare(kind: Kind, worker: Worker) -> Result<Ready, RingError> {
    match kind {
        Kind::Uring => {
            let ring = Ring::new(&ring_config(worker.connections))?;
            Ok(Ready::Uring(Box::new(uring::Engine::new(ring, worker))))
        }
    }
}

impl Ready {
    /// What the kernel gave, in a line.
    #[must_use]
    pub fn setup(&self) -> String {
        match self {
            Self::Uring(engine) => format!("io_uring: {}", engine.ring().setup()),
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When the ring can't go on.
    pub fn run(self) -> Result<Outcome, RingError> {
        match self {
            Self::Uring(engine) => engine.run(),
        }
    }
}

/// The submission queue takes everything that a batch can ask for (a send for each connection, and a little more): were
/// it to fill up, the ring would submit in the middle of a batch, before the departures of the batch are stamped.
fn ring_config(connections: u32) -> RingConfig {
    let entries = (2 * connections + 64).next_power_of_two().clamp(256, 32_768);
    let buffers = connections.next_power_of_two().clamp(256, 8192) as u16;
    RingConfig { entries, cq_entries: 4 * entries, buffers, ..RingConfig::default() }
}
