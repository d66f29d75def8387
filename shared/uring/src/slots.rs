//! A table of fixed capacity whose entries are named by slot and generation.
//!
//! Invariant: a [`Key`] finds its value only between the `insert` that returned it and the `remove` that ended it. After
//! that the slot's generation has moved on, so a stale key finds nothing. Free slots are taken last in, first out: the
//! memory of a slot that was used just now is still in the cache.

use crate::token::Key;

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values in slots, found by [`Key`]. Grows up to its capacity and never shrinks.
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    capacity: usize,
    len: usize,
}

impl<T> Slots<T> {
    /// A table that takes at most `capacity` values at a time. Memory is taken as slots are first used.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), capacity: capacity.min(u32::MAX as usize), len: 0 }
    }

    /// Puts `value` into a free slot.
    ///
    /// # Errors
    /// Gives the value back when all slots are taken.
    pub fn insert(&mut self, value: T) -> Result<Key, T> {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.value = Some(value);
            self.len += 1;
            return Ok(Key::new(slot, entry.generation));
        }
        if self.slots.len() == self.capacity {
            return Err(value);
        }
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, value: Some(value) });
        self.len += 1;
        Ok(Key::new(slot, 0))
    }

    /// The value of `key`, if it has not been removed.
    #[must_use]
    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        self.slots.get(key.slot()).filter(|slot| slot.generation == key.generation())?.value.as_ref()
    }

    /// The value of `key`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.slots.get_mut(key.slot()).filter(|slot| slot.generation == key.generation())?.value.as_mut()
    }

    /// Takes the value out and ends its key.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.slot()).filter(|slot| slot.generation == key.generation())?;
        let value = slot.value.take()?;
        slot.generation = Key::new(0, slot.generation.wrapping_add(1)).generation();
        self.free.push(key.slot() as u32);
        self.len -= 1;
        Some(value)
    }

    /// Values held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no value is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `insert` would refuse.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Most values that can be held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// All values with their keys, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(i, slot)| Some((Key::new(i as u32, slot.generation), slot.value.as_ref()?)))
    }

    /// The key of the value in slot number `slot`, if one is there: for walks that change the table as they go.
    #[must_use]
    pub fn key_at(&self, slot: usize) -> Option<Key> {
        let entry = self.slots.get(slot)?;
        entry.value.as_ref().map(|_| Key::new(slot as u32, entry.generation))
    }

    /// One more than the highest slot ever used.
    #[must_use]
    pub fn high_water(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_finds_nothing_even_when_its_slot_is_taken_again() {
        let mut slots = Slots::with_capacity(1);
        let first = slots.insert("first").expect("room");
        assert_eq!(slots.insert("second"), Err("second"), "the bound is answered by giving the value back");
        assert_eq!(slots.remove(first), Some("first"));
        let second = slots.insert("second").expect("room again");
        assert_eq!(first.slot(), second.slot());
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&"second"));
    }

    #[test]
    fn generation_wraps_without_meeting_its_neighbour() {
        let mut slots = Slots::with_capacity(1);
        let mut before = slots.insert(0).expect("room");
        for n in 1..(1 << crate::token::GENERATION_BITS) + 2 {
            slots.remove(before).expect("held");
            let now = slots.insert(n).expect("room");
            assert_ne!(before, now);
            assert_eq!(slots.get(before), None);
            before = now;
        }
    }

    #[test]
    fn against_a_model_under_random_use() {
        let seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut state = seed;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut slots = Slots::with_capacity(16);
        let mut live: Vec<(Key, u64)> = Vec::new();
        let mut dead: Vec<Key> = Vec::new();
        for _ in 0..20_000 {
            let dice = random();
            if dice % 2 == 0 {
                match slots.insert(dice) {
                    Ok(key) => live.push((key, dice)),
                    Err(_) => assert_eq!(live.len(), 16, "seed {seed:#x}"),
                }
            } else if !live.is_empty() {
                let (key, value) = live.swap_remove(dice as usize % live.len());
                assert_eq!(slots.remove(key), Some(value), "seed {seed:#x}");
                dead.push(key);
            }
            assert_eq!(slots.len(), live.len());
            assert!(live.iter().all(|(key, value)| slots.get(*key) == Some(value)), "seed {seed:#x}");
            assert!(dead.iter().rev().take(64).all(|key| slots.get(*key).is_none()), "seed {seed:#x}");
        }
    }
}
