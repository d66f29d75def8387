//! A place in the bytes that were parsed.

/// Offset and length, relative to the slice that was given to the parser.
///
/// Offsets survive a move of the bytes; references would not. The default span is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub off: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The bytes that this span names in `buf`; empty when it reaches outside of `buf`.
    #[inline]
    pub fn of(self, buf: &[u8]) -> &[u8] {
        let start = self.off as usize;
        buf.get(start..start.saturating_add(self.len as usize)).unwrap_or_default()
    }

    /// Whether it names no byte at all.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// From `start` up to `end`. Both lie inside a head, and a head is shorter than 16 MiB.
    #[inline(always)]
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { off: start as u32, len: (end - start) as u32 }
    }
}
