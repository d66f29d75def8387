//! Connections whose receive ended because no buffer was free.
//!
//! A receive on an empty buffer ring ends at once with ENOBUFS, even when no data is there (axboe/liburing#1275). Asking
//! again at once would spin; closing would punish the peer for our shortage. So its key waits here and is let go, oldest
//! first, when buffers have come back: at most one key a free buffer in a turn, because one receive may take many.

use std::collections::VecDeque;

use crate::token::Key;

/// A queue of keys that wait for buffers. Each key is in it at most once, which its owner's flag must see to.
#[derive(Debug, Default)]
pub struct Parked {
    waiting: VecDeque<Key>,
}

impl Parked {
    /// Lets `key` wait.
    pub fn park(&mut self, key: Key) {
        self.waiting.push_back(key);
    }

    /// Keys that wait (some may belong to connections that have ended since).
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many to let go now that `free_buffers` are free.
    #[must_use]
    pub fn ready(&self, free_buffers: usize) -> usize {
        self.waiting.len().min(free_buffers)
    }

    /// The one that has waited longest.
    pub fn pop(&mut self) -> Option<Key> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_first_and_never_more_than_buffers() {
        let mut parked = Parked::default();
        for slot in 0..5 {
            parked.park(Key::new(slot, 0));
        }
        assert_eq!(parked.ready(0), 0, "no buffer, no re-arm: that would spin");
        assert_eq!(parked.ready(3), 3);
        assert_eq!(parked.ready(99), 5);
        assert_eq!(parked.pop(), Some(Key::new(0, 0)));
        assert_eq!(parked.pop(), Some(Key::new(1, 0)));
    }
}
