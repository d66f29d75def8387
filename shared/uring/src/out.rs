//! Bytes on their way out: a buffer and how much of it has left.

/// A send buffer. It is filled through [`Out::buf`], sent in one or more sends, and reused: its memory is kept.
#[derive(Debug, Default)]
pub struct Out {
    buf: Vec<u8>,
    sent: usize,
}

impl Out {
    /// An empty buffer with room for `len_bytes`.
    #[must_use]
    pub fn with_capacity(len_bytes: usize) -> Self {
        Self { buf: Vec::with_capacity(len_bytes), sent: 0 }
    }

    /// The bytes, to append to.
    #[inline]
    pub fn buf(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// What has not been sent yet.
    #[must_use]
    #[inline]
    pub fn unsent(&self) -> &[u8] {
        &self.buf[self.sent.min(self.buf.len())..]
    }

    /// Bytes that have left.
    #[must_use]
    #[inline]
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Notes that `len_bytes` more have left. Returns whether all have.
    #[inline]
    pub fn advance(&mut self, len_bytes: usize) -> bool {
        self.sent = (self.sent + len_bytes).min(self.buf.len());
        self.sent == self.buf.len()
    }

    /// Whether nothing is left to send.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent >= self.buf.len()
    }

    /// Forgets the bytes and keeps the memory, unless it has grown beyond `keep_bytes`: one large response must not hold
    /// its memory for as long as the connection lives.
    pub fn clear(&mut self, keep_bytes: usize) {
        self.sent = 0;
        self.buf.clear();
        if self.buf.capacity() > keep_bytes {
            self.buf.shrink_to(keep_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sends_leave_the_rest() {
        let mut out = Out::default();
        out.buf().extend_from_slice(b"hello");
        assert!(!out.advance(2));
        assert_eq!(out.unsent(), b"llo");
        assert!(out.advance(3));
        assert!(out.is_empty());
        assert!(out.advance(9), "more than there is counts as all");
        out.clear(1 << 20);
        assert_eq!(out.unsent(), b"");
    }

    #[test]
    fn clear_gives_large_memory_back() {
        let mut out = Out::with_capacity(1 << 20);
        out.clear(4096);
        assert!(out.buf().capacity() < 1 << 20);
    }
}
