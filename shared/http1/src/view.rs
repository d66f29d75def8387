//! The bytes of one parse: a slice, and what may be read behind it.

use crate::error::{Error, Kind, Stop};
use crate::scan::{BLOCK, Block, LineMask, Scan, TargetMask};

/// Bytes to parse. Where the memory goes on behind them, say so: blocks are then read without a special end.
///
/// ```
/// use ringshot_http1::Input;
/// let mut memory = vec![0; 4096];                   // a receive buffer, of which 4096 - 64 octets are offered
/// memory[..4].copy_from_slice(b"GET ");
/// assert!(Input::padded(&memory, 4).is_some());
/// assert!(Input::padded(&memory, 4090).is_none());  // only 6 octets behind them
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    memory: &'a [u8],
    len: usize,
}

impl<'a> Input<'a> {
    /// Octets that have to lie behind the ones to parse.
    pub const PADDING: usize = BLOCK;

    /// A slice with nothing known about what is behind it.
    #[inline]
    pub const fn plain(bytes: &'a [u8]) -> Self {
        Self { memory: bytes, len: bytes.len() }
    }

    /// The first `len` octets of `memory`; `None` unless [`Input::PADDING`] more follow them. What those hold
    /// doesn't matter.
    #[inline]
    pub const fn padded(memory: &'a [u8], len: usize) -> Option<Self> {
        match memory.len().checked_sub(len) {
            Some(Self::PADDING..) => Some(Self { memory, len }),
            _ => None,
        }
    }

    /// The bytes to parse.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        &self.memory[..self.len]
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::plain(bytes)
    }
}

/// Room for an input that is shorter than a block, so that blocks can be read from it.
pub(crate) struct Room([u8; 2 * BLOCK]);

impl Room {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self([0; 2 * BLOCK])
    }
}

/// An input cut at the limit of a head, with blocks readable at every offset.
///
/// INVARIANT: `len <= memory.len()` and `memory.len() >= BLOCK`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    memory: &'a [u8],
    len: usize,
}

impl<'a> View<'a> {
    #[inline(always)]
    pub(crate) fn new(input: Input<'a>, room: &'a mut Room, head_len: usize) -> Self {
        let len = input.len.min(head_len);
        if input.memory.len() >= BLOCK {
            return Self { memory: input.memory, len };
        }
        room.0[..input.memory.len()].copy_from_slice(input.memory);
        Self { memory: &room.0, len }
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.memory[..self.len]
    }

    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The octet at `at`, or the wish for more.
    #[inline(always)]
    pub(crate) fn at(self, at: usize) -> Result<u8, Stop> {
        if at < self.len { Ok(self.memory[at]) } else { Err(Stop::More) }
    }

    /// The eight octets from `at` on as a number, when they are there.
    #[inline(always)]
    pub(crate) fn word(self, at: usize) -> Option<u64> {
        self.bytes().get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    /// The octets from `at` on: a block, how many of its octets come before `at`, and the bits that count.
    /// `at` must be below `len`.
    #[inline(always)]
    fn block(self, at: usize) -> (&'a Block, u32, u64) {
        let left = self.len - at;
        if let Some(block) = self.memory[at..].first_chunk() {
            let keep = if left >= BLOCK { !0 } else { !(!0 << left) };
            return (block, 0, keep);
        }
        // The end of plain memory: the last whole block has these octets too, further up.
        let skip = at + BLOCK - self.memory.len();
        let last = self.memory.len() - BLOCK;
        match self.memory[last..].first_chunk() {
            Some(block) => (block, skip as u32, !(!0 << left)),
            None => (&[0; BLOCK], 0, 0),
        }
    }

    #[inline(always)]
    pub(crate) fn line<S: Scan>(self, scan: S, at: usize) -> LineMask {
        let (block, skip, keep) = self.block(at);
        let mask = scan.line(block, skip);
        LineMask { not_token: mask.not_token & keep, control: mask.control & keep }
    }

    #[inline(always)]
    pub(crate) fn target<S: Scan>(self, scan: S, at: usize) -> TargetMask {
        let (block, skip, keep) = self.block(at);
        let mask = scan.target(block, skip);
        TargetMask { stop: mask.stop & keep, query: mask.query & keep }
    }

    /// The first octet from `at` on that cannot stand in a field value.
    #[inline(always)]
    pub(crate) fn control<S: Scan>(self, scan: S, mut at: usize) -> Result<usize, Stop> {
        while at < self.len {
            let (block, skip, keep) = self.block(at);
            let mask = scan.control(block, skip) & keep;
            if mask != 0 {
                return Ok(at + mask.trailing_zeros() as usize);
            }
            at += BLOCK;
        }
        Err(Stop::More)
    }

    /// Takes the CR LF that has to be at `at`; `kind` is what a CR without LF means here.
    #[inline(always)]
    pub(crate) fn line_end(self, at: usize, kind: Kind) -> Result<usize, Stop> {
        match self.bytes().get(at..).and_then(|rest| rest.first_chunk()) {
            Some(b"\r\n") => Ok(at + 2),
            _ => Err(self.no_line_end(at, kind)),
        }
    }

    #[cold]
    fn no_line_end(self, at: usize, kind: Kind) -> Stop {
        match (self.bytes().get(at), self.bytes().get(at + 1)) {
            (None, _) | (Some(b'\r'), None) => Stop::More,
            (Some(b'\n'), _) => Stop::bad(Kind::BadLineEnd, at),
            _ => Stop::bad(kind, at),
        }
    }

    /// What running out of bytes means: more are welcome, or the head is too long.
    #[cold]
    pub(crate) fn out_of_bytes(self, head_len: usize) -> Result<(), Error> {
        if self.len < head_len {
            return Ok(());
        }
        let mut text = self.bytes();
        while let [b'\r', b'\n', rest @ ..] = text {
            text = rest;
        }
        let kind = if text.contains(&b'\n') { Kind::HeadersTooLarge } else { Kind::HeadTooLarge };
        Err(Error::new(kind, head_len))
    }
}
