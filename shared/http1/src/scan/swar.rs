//! The back end for every machine: tables, and eight octets in one register.

use super::table::{is_target, is_token};
use super::{Block, LineMask, Scan, TargetMask};

/// Plain integer instructions. It stops at the first octet that ends the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swar;

impl Scan for Swar {
    #[inline]
    fn line(self, block: &Block, skip: u32) -> LineMask {
        LineMask { not_token: first(block, skip, |octet| !is_token(octet)), control: self.control(block, skip) }
    }

    #[inline]
    fn control(self, block: &Block, skip: u32) -> u64 {
        let (words, _) = block.as_chunks::<8>();
        let from = skip as usize / 8;
        for (index, word) in words.iter().enumerate().skip(from) {
            let mut found = controls(u64::from_le_bytes(*word));
            if index == from {
                found &= !0 << (skip % 8 * 8);
            }
            if found != 0 {
                return 1 << (index as u32 * 8 + found.trailing_zeros() / 8 - skip);
            }
        }
        0
    }

    #[inline]
    fn target(self, block: &Block, skip: u32) -> TargetMask {
        let stop = first(block, skip, |octet| !is_target(octet));
        TargetMask { stop, query: first(block, skip, |octet| octet == b'?') }
    }
}

#[inline]
fn first(block: &Block, skip: u32, ends: impl Fn(u8) -> bool) -> u64 {
    match block[skip as usize..].iter().position(|&octet| ends(octet)) {
        Some(index) => 1 << index,
        None => 0,
    }
}

/// Sets the top bit of exactly the octets that are a control (but HTAB) or DEL.
#[inline]
fn controls(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // Seven bits plus 0x60 reach the top bit from 0x20 up, and never carry into the octet above.
    let below_space = !(((word & (ONES * 0x7F)) + ONES * 0x60) | word);
    let tab = zeros(word ^ (ONES * 0x09));
    let del = zeros(word ^ (ONES * 0x7F));
    ((below_space & !tab) | del) & (ONES << 7)
}

/// Sets the top bit of exactly the octets that are zero. The usual subtraction borrows, and would see more above the first.
#[inline]
fn zeros(word: u64) -> u64 {
    const LOW: u64 = u64::MAX / 255 * 0x7F;
    !(((word & LOW) + LOW) | word | LOW)
}

#[cfg(test)]
mod tests {
    use super::super::table::is_value;
    use super::*;

    #[test]
    fn controls_are_what_the_table_says_at_every_place() {
        for octet in 0..=255_u8 {
            for place in 0..8 {
                for around in *b"a\t\xff " {
                    let mut word = [around; 8];
                    word[place] = octet;
                    let found = controls(u64::from_le_bytes(word));
                    let expected = if is_value(octet) { 8 } else { place as u32 };
                    assert_eq!(found.trailing_zeros() / 8, expected, "{octet:#x} at {place} in {around:#x}");
                }
            }
        }
    }
}
