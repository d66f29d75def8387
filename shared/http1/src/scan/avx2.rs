//! The AVX2 back end: a block is two vectors of 32 octets.

use super::table::{BIT_OF_NIBBLE, TOKEN_BY_NIBBLES, halves};
use super::{Block, Job, LineMask, Scan, TargetMask};
use core::arch::x86_64::*;

/// Proof that this processor has AVX2, BMI1, BMI2 and LZCNT.
///
/// INVARIANT: made only by [`Avx2::detect`] after it found all of them, and by [`run_detected`], which is reached
/// only after `detect` had succeeded in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `Some` when the processor and the operating system support it.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        found.then_some(Self(()))
    }

    /// Runs `job` in a function that is compiled for this back end.
    #[inline]
    pub(crate) fn enter<J: Job>(self, job: J) -> J::Out {
        // SAFETY: the function needs the features that `self` proves.
        unsafe { run(self, job) }
    }
}

/// Runs `job` where an earlier `detect` of this process has succeeded; `dispatch` keeps that in its level.
#[inline]
pub(super) fn run_detected<J: Job>(job: J) -> J::Out {
    Avx2(()).enter(job)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn run<J: Job>(scan: Avx2, job: J) -> J::Out {
    job.run(scan)
}

impl Scan for Avx2 {
    #[inline(always)]
    fn line(self, block: &Block, skip: u32) -> LineMask {
        // SAFETY: `self` proves the features.
        let mask = unsafe { line(block) };
        LineMask { not_token: mask.not_token >> skip, control: mask.control >> skip }
    }

    #[inline(always)]
    fn control(self, block: &Block, skip: u32) -> u64 {
        // SAFETY: `self` proves the features.
        let mask = unsafe { control(block) };
        mask >> skip
    }

    #[inline(always)]
    fn target(self, block: &Block, skip: u32) -> TargetMask {
        // SAFETY: `self` proves the features.
        let mask = unsafe { target(block) };
        TargetMask { stop: mask.stop >> skip, query: mask.query >> skip }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &Block) -> [__m256i; 2] {
    let start = block.as_ptr().cast::<__m256i>();
    // SAFETY: the block has 64 octets, this reads the first 32; the load has no alignment to keep.
    let low = unsafe { _mm256_loadu_si256(start) };
    // SAFETY: 32 octets further is inside the same block of 64.
    let next = unsafe { start.add(1) };
    // SAFETY: it reads the last 32 octets of the block; no alignment to keep.
    let high = unsafe { _mm256_loadu_si256(next) };
    [low, high]
}

#[inline]
#[target_feature(enable = "avx2")]
fn join(parts: [__m256i; 2]) -> u64 {
    let [low, high] = parts;
    u64::from(_mm256_movemask_epi8(high) as u32) << 32 | u64::from(_mm256_movemask_epi8(low) as u32)
}

#[inline]
#[target_feature(enable = "avx2")]
fn table(row: [u8; 16]) -> __m256i {
    let [low, high] = halves(row);
    _mm256_set_epi64x(high, low, high, low)
}

#[inline]
#[target_feature(enable = "avx2")]
fn not_token(octets: __m256i) -> __m256i {
    // The first shuffle takes bit 7 of its index as "give 0", so octets from 0x80 up come out as no token.
    let row = _mm256_shuffle_epi8(table(TOKEN_BY_NIBBLES), octets);
    let high = _mm256_and_si256(_mm256_srli_epi16(octets, 4), _mm256_set1_epi8(0x0F));
    let bit = _mm256_shuffle_epi8(table(BIT_OF_NIBBLE), high);
    _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), _mm256_setzero_si256())
}

#[inline]
#[target_feature(enable = "avx2")]
fn not_value(octets: __m256i) -> __m256i {
    let below_space = _mm256_cmpeq_epi8(_mm256_min_epu8(octets, _mm256_set1_epi8(0x1F)), octets);
    let tab = _mm256_cmpeq_epi8(octets, _mm256_set1_epi8(b'\t' as i8));
    let del = _mm256_cmpeq_epi8(octets, _mm256_set1_epi8(0x7F));
    _mm256_or_si256(_mm256_andnot_si256(tab, below_space), del)
}

#[inline]
#[target_feature(enable = "avx2")]
fn line(block: &Block) -> LineMask {
    let [low, high] = load(block);
    LineMask { not_token: join([not_token(low), not_token(high)]), control: join([not_value(low), not_value(high)]) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn control(block: &Block) -> u64 {
    let [low, high] = load(block);
    join([not_value(low), not_value(high)])
}

#[inline]
#[target_feature(enable = "avx2")]
fn not_target(octets: __m256i) -> __m256i {
    // Signed, so that octets from 0x80 up are below as well.
    let outside = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x21), octets);
    let del = _mm256_cmpeq_epi8(octets, _mm256_set1_epi8(0x7F));
    let fragment = _mm256_cmpeq_epi8(octets, _mm256_set1_epi8(b'#' as i8));
    _mm256_or_si256(outside, _mm256_or_si256(del, fragment))
}

#[inline]
#[target_feature(enable = "avx2")]
fn target(block: &Block) -> TargetMask {
    let [low, high] = load(block);
    let mark = _mm256_set1_epi8(b'?' as i8);
    TargetMask {
        stop: join([not_target(low), not_target(high)]),
        query: join([_mm256_cmpeq_epi8(low, mark), _mm256_cmpeq_epi8(high, mark)]),
    }
}
