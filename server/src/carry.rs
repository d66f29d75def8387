//! Bytes that have arrived and can't be used yet: a torn head, or what follows while output is blocked.
//!
//! Bound: [`crate::session`] keeps at most a head and one input, or [`crate::session::BLOCKED_INPUT_BYTES`], in here.

/// Memory that is kept when the bytes are used up. A larger head gives the rest back: an idle connection stays small.
const KEEP_BYTES: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Carry {
    buf: Vec<u8>,
    /// Invariant: `start <= buf.len()`; what is before it has been used.
    start: usize,
}

impl Carry {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.buf.len()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf[self.start..]
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buf.drain(..self.start);
            self.start = 0;
        }
        self.buf.extend_from_slice(bytes);
    }

    pub(crate) fn consume(&mut self, len_bytes: usize) {
        self.start = (self.start + len_bytes).min(self.buf.len());
        if self.is_empty() {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.buf.clear();
        self.buf.shrink_to(KEEP_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_the_order_they_came() {
        let mut carry = Carry::default();
        carry.push(b"abc");
        carry.consume(2);
        carry.push(b"de");
        assert_eq!(carry.bytes(), b"cde");
        carry.consume(3);
        assert!(carry.is_empty());
        assert_eq!(carry.bytes(), b"");
    }

    #[test]
    fn large_memory_is_given_back_when_used_up() {
        let mut carry = Carry::default();
        carry.push(&vec![b'x'; 16 * KEEP_BYTES]);
        carry.consume(16 * KEEP_BYTES);
        assert!(carry.buf.capacity() <= 2 * KEEP_BYTES, "{}", carry.buf.capacity());
    }
}
