//! Byte classes, 64 octets at a time, and the choice of the instructions that classify them.
//!
//! A line of a head is short, so searching it token by token pays the latency of a vector compare several times.
//! Here a line's first 64 octets are classified at once into bit masks, and the tokens are found with bit scans.
//! The back end is chosen once per process, and the whole head parser is compiled for it (see [`Job`]): a choice
//! per field would cost more than the search itself.
#![allow(unsafe_code)] // Vector instructions and the loads that feed them; design rule: only in this folder.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sse42;
pub(crate) mod swar;
pub(crate) mod table;

#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicU8, Ordering};

/// Octets classified at a time, one per bit of a mask.
pub(crate) const BLOCK: usize = 64;

/// The octets of one classification.
pub(crate) type Block = [u8; BLOCK];

/// What ends the parts of a field line. Only the lowest set bit of each mask counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineMask {
    /// Octets that aren't token characters.
    pub(crate) not_token: u64,
    /// Octets that a field value cannot hold: controls but HTAB, and DEL.
    pub(crate) control: u64,
}

/// What ends the parts of a request target. Only the lowest set bit of each mask counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetMask {
    /// Octets that a target cannot hold: all but 0x21 to 0x7E, and `#`.
    pub(crate) stop: u64,
    /// Question marks.
    pub(crate) query: u64,
}

/// One set of instructions. All of them give equal answers; `skip` (below 64) octets of the block are left out, and
/// bit 0 stands for the first octet after them.
pub(crate) trait Scan: Copy {
    /// Classifies for a field line.
    fn line(self, block: &Block, skip: u32) -> LineMask;
    /// Classifies for the rest of a field value.
    fn control(self, block: &Block, skip: u32) -> u64;
    /// Classifies for a request target.
    fn target(self, block: &Block, skip: u32) -> TargetMask;
}

/// Work that is compiled once for each back end. `run` is inlined into a function with the back end's features.
pub(crate) trait Job {
    /// What the work results in.
    type Out;
    /// Does the work.
    fn run<S: Scan>(self, scan: S) -> Self::Out;
}

/// Runs `job` on the best back end that this processor has.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn dispatch<J: Job>(job: J) -> J::Out {
    job.run(swar::Swar)
}

/// Runs `job` on the best back end that this processor has.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn dispatch<J: Job>(job: J) -> J::Out {
    match LEVEL.load(Ordering::Relaxed) {
        AVX2 => avx2::run_detected(job),
        SSE42 => sse42::run_detected(job),
        SWAR => job.run(swar::Swar),
        _ => dispatch_first(job),
    }
}

#[cfg(target_arch = "x86_64")]
static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);
#[cfg(target_arch = "x86_64")]
const UNKNOWN: u8 = 0;
#[cfg(target_arch = "x86_64")]
const SWAR: u8 = 1;
#[cfg(target_arch = "x86_64")]
const SSE42: u8 = 2;
#[cfg(target_arch = "x86_64")]
const AVX2: u8 = 3;

/// Takes another back end from now on, for tests and measurements. `false`: this processor doesn't have it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn choose(name: &str) -> bool {
    let level = match name {
        "avx2" if avx2::Avx2::detect().is_some() => AVX2,
        "sse4.2" if sse42::Sse42::detect().is_some() => SSE42,
        "swar" => SWAR,
        _ => return false,
    };
    LEVEL.store(level, Ordering::Relaxed);
    true
}

/// Takes another back end from now on. There is but one here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn choose(name: &str) -> bool {
    name == "swar"
}

/// Asks the processor. Several threads may do so at once: they find the same.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn dispatch_first<J: Job>(job: J) -> J::Out {
    if let Some(scan) = avx2::Avx2::detect() {
        LEVEL.store(AVX2, Ordering::Relaxed);
        return scan.enter(job);
    }
    if let Some(scan) = sse42::Sse42::detect() {
        LEVEL.store(SSE42, Ordering::Relaxed);
        return scan.enter(job);
    }
    LEVEL.store(SWAR, Ordering::Relaxed);
    job.run(swar::Swar)
}
