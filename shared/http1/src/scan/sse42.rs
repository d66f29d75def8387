//! The SSE4.2 back end: a block is four vectors of 16 octets.

use super::table::{BIT_OF_NIBBLE, TOKEN_BY_NIBBLES, halves};
use super::{Block, Job, LineMask, Scan, TargetMask};
use core::arch::x86_64::*;

/// Proof that this processor has SSE4.2, with the byte shuffle of SSSE3, and POPCNT.
///
/// INVARIANT: made only by [`Sse42::detect`] after it found all of them, and by [`run_detected`], which is reached
/// only after `detect` had succeeded in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sse42(());

impl Sse42 {
    /// `Some` when the processor and the operating system support it.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("popcnt");
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
    Sse42(()).enter(job)
}

#[target_feature(enable = "sse4.2,popcnt")]
fn run<J: Job>(scan: Sse42, job: J) -> J::Out {
    job.run(scan)
}

impl Scan for Sse42 {
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
#[target_feature(enable = "sse4.2")]
fn load(block: &Block) -> [__m128i; 4] {
    let (quarters, _) = block.as_chunks::<16>();
    [quarter(&quarters[0]), quarter(&quarters[1]), quarter(&quarters[2]), quarter(&quarters[3])]
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn quarter(octets: &[u8; 16]) -> __m128i {
    // SAFETY: it reads the 16 octets of the array; the load has no alignment to keep.
    unsafe { _mm_loadu_si128(octets.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn join(parts: [__m128i; 4]) -> u64 {
    let [a, b, c, d] = parts;
    let low = _mm_movemask_epi8(b) << 16 | _mm_movemask_epi8(a);
    let high = _mm_movemask_epi8(d) << 16 | _mm_movemask_epi8(c);
    u64::from(high as u32) << 32 | u64::from(low as u32)
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn table(row: [u8; 16]) -> __m128i {
    let [low, high] = halves(row);
    _mm_set_epi64x(high, low)
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn not_token(octets: __m128i) -> __m128i {
    // The first shuffle takes bit 7 of its index as "give 0", so octets from 0x80 up come out as no token.
    let row = _mm_shuffle_epi8(table(TOKEN_BY_NIBBLES), octets);
    let high = _mm_and_si128(_mm_srli_epi16(octets, 4), _mm_set1_epi8(0x0F));
    let bit = _mm_shuffle_epi8(table(BIT_OF_NIBBLE), high);
    _mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128())
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn not_value(octets: __m128i) -> __m128i {
    let below_space = _mm_cmpeq_epi8(_mm_min_epu8(octets, _mm_set1_epi8(0x1F)), octets);
    let tab = _mm_cmpeq_epi8(octets, _mm_set1_epi8(b'\t' as i8));
    let del = _mm_cmpeq_epi8(octets, _mm_set1_epi8(0x7F));
    _mm_or_si128(_mm_andnot_si128(tab, below_space), del)
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn line(block: &Block) -> LineMask {
    let [a, b, c, d] = load(block);
    LineMask {
        not_token: join([not_token(a), not_token(b), not_token(c), not_token(d)]),
        control: join([not_value(a), not_value(b), not_value(c), not_value(d)]),
    }
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn control(block: &Block) -> u64 {
    let [a, b, c, d] = load(block);
    join([not_value(a), not_value(b), not_value(c), not_value(d)])
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn not_target(octets: __m128i) -> __m128i {
    // Signed, so that octets from 0x80 up are below as well.
    let outside = _mm_cmpgt_epi8(_mm_set1_epi8(0x21), octets);
    let del = _mm_cmpeq_epi8(octets, _mm_set1_epi8(0x7F));
    let fragment = _mm_cmpeq_epi8(octets, _mm_set1_epi8(b'#' as i8));
    _mm_or_si128(outside, _mm_or_si128(del, fragment))
}

#[inline]
#[target_feature(enable = "sse4.2")]
fn target(block: &Block) -> TargetMask {
    let [a, b, c, d] = load(block);
    let mark = _mm_set1_epi8(b'?' as i8);
    TargetMask {
        stop: join([not_target(a), not_target(b), not_target(c), not_target(d)]),
        query: join([
            _mm_cmpeq_epi8(a, mark),
            _mm_cmpeq_epi8(b, mark),
            _mm_cmpeq_epi8(c, mark),
            _mm_cmpeq_epi8(d, mark),
        ]),
    }
}
