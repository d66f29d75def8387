//! Deadlines of all connections of a worker in one coarse wheel. Takes the time as a parameter.
//!
//! A request touches no timer. Each slot has at most one entry, which is due no later than the shortest timeout from when
//! it was made. When it comes up, the owner compares the connection's real deadline with the clock: passed, it acts;
//! otherwise the entry goes back for the earlier of that deadline and one more shortest timeout. A deadline that began in
//! between is at least a shortest timeout away, so the entry always comes up before it.

/// Distance of two ticks. A deadline is met this much late at most, and once more by the engine's own wait.
pub const GRAIN_NS: u64 = 100_000_000;

/// Buckets of the wheel. An entry further away than a turn stays in its bucket for another one.
const BUCKETS: u64 = 256;

/// An entry of the wheel: due from this tick on.
#[derive(Clone, Copy)]
struct Entry<K> {
    tick: u64,
    what: K,
}

/// A hashed wheel: what was inserted comes out once, never before its time and at most [`GRAIN_NS`] after it when asked.
pub struct Wheel<K> {
    buckets: Vec<Vec<Entry<K>>>,
    /// Everything due before this tick has been moved to `due`.
    next_tick: u64,
    due: Vec<K>,
    len: usize,
}

impl<K: Copy> Wheel<K> {
    /// An empty wheel that starts at `now_ns`.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        let buckets = (0..BUCKETS).map(|_| Vec::new()).collect();
        Self { buckets, next_tick: now_ns / GRAIN_NS, due: Vec::new(), len: 0 }
    }

    /// Puts `what` in, to come out at `at_ns`.
    pub fn insert(&mut self, at_ns: u64, what: K) {
        let tick = at_ns.div_ceil(GRAIN_NS).max(self.next_tick);
        self.buckets[(tick % BUCKETS) as usize].push(Entry { tick, what });
        self.len += 1;
    }

    /// Takes out one entry whose time has come.
    pub fn pop(&mut self, now_ns: u64) -> Option<K> {
        while self.due.is_empty() && self.next_tick <= now_ns / GRAIN_NS {
            self.turn(now_ns / GRAIN_NS);
        }
        let what = self.due.pop()?;
        self.len -= 1;
        Some(what)
    }

    /// Moves what is due at the next tick. After a long sleep one round over all buckets does for all ticks missed.
    fn turn(&mut self, now_tick: u64) {
        let due = &mut self.due;
        let missed = now_tick - self.next_tick + 1;
        for tick in self.next_tick..self.next_tick + missed.min(BUCKETS) {
            let bucket = &mut self.buckets[(tick % BUCKETS) as usize];
            bucket.retain(|entry| {
                let waits = entry.tick > now_tick;
                if !waits {
                    due.push(entry.what);
                }
                waits
            });
        }
        self.next_tick = now_tick + 1;
    }

    /// When to ask again: the time of the next bucket that holds something. An engine need not wake up before.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(0);
        }
        if self.len == 0 {
            return None;
        }
        let ticks = self.next_tick..self.next_tick + BUCKETS;
        let tick = ticks.into_iter().find(|tick| !self.buckets[(tick % BUCKETS) as usize].is_empty());
        Some(tick.unwrap_or(self.next_tick).saturating_mul(GRAIN_NS))
    }

    /// Entries in the wheel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The wheel of a worker's connections: one entry a slot, whoever lives in it.
pub struct Timers<K> {
    wheel: Wheel<u32>,
    /// By slot: who lives there, and whether the slot has an entry in the wheel.
    slots: Vec<Option<(K, bool)>>,
    shortest_ns: u64,
}

impl<K: Copy> Timers<K> {
    /// No connection yet. `shortest_ns` is the shortest timeout that a connection can be under.
    #[must_use]
    pub fn new(now_ns: u64, shortest_ns: u64) -> Self {
        Self { wheel: Wheel::new(now_ns), slots: Vec::new(), shortest_ns }
    }

    /// `key` now lives in `slot`. Costs nothing when the entry of its predecessor is still there: it comes up soon enough.
    pub fn watch(&mut self, slot: usize, key: K, now_ns: u64) {
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        if !matches!(self.slots[slot], Some((_, true))) {
            self.wheel.insert(now_ns.saturating_add(self.shortest_ns), slot as u32);
        }
        self.slots[slot] = Some((key, true));
    }

    /// Somebody whose deadline has to be looked at. Hand them to [`again`](Self::again) unless they are gone.
    pub fn pop(&mut self, now_ns: u64) -> Option<K> {
        let slot = self.wheel.pop(now_ns)? as usize;
        let (key, has_entry) = self.slots[slot].as_mut()?;
        *has_entry = false;
        Some(*key)
    }

    /// Look at the one in `slot` again at `deadline_ns`, or after a shortest timeout when that is sooner.
    pub fn again(&mut self, slot: usize, deadline_ns: Option<u64>, now_ns: u64) {
        let Some(Some((_, has_entry))) = self.slots.get_mut(slot) else { return };
        if std::mem::replace(has_entry, true) {
            return;
        }
        let latest_ns = now_ns.saturating_add(self.shortest_ns);
        self.wheel.insert(deadline_ns.map_or(latest_ns, |deadline| deadline.min(latest_ns)), slot as u32);
    }

    /// When [`pop`](Self::pop) has something next.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    #[test]
    fn never_early_and_at_most_two_grains_late() {
        let seed = 0x2545_f491_4f6c_dd1d;
        let mut random = random(seed);
        let mut now = random() % (1 << 50);
        let mut wheel = Wheel::new(now);
        let mut waiting = Vec::new();
        for _ in 0..5000 {
            for _ in 0..random() % 4 {
                let at = now + random() % (600 * GRAIN_NS);
                wheel.insert(at, at);
                waiting.push(at);
            }
            // Mostly small steps, sometimes a sleep of more than a turn.
            now += if random().is_multiple_of(50) { random() % (700 * GRAIN_NS) } else { random() % GRAIN_NS };
            while let Some(at) = wheel.pop(now) {
                assert!(at <= now, "seed {seed:#x}: {at} came out early, at {now}");
                let found = waiting.iter().position(|other| *other == at).expect("comes out once");
                waiting.swap_remove(found);
            }
            let late = waiting.iter().find(|at| **at + 2 * GRAIN_NS <= now);
            assert_eq!(late, None, "seed {seed:#x}: still in at {now}");
            assert_eq!(wheel.len(), waiting.len(), "seed {seed:#x}");
        }
        assert!(wheel.pop(u64::MAX).is_some() || waiting.is_empty());
    }

    #[test]
    fn whoever_sleeps_until_next_ns_misses_nothing() {
        let mut random = random(0x9e37_79b9_7f4a_7c15);
        let mut now = 0;
        let mut wheel = Wheel::new(now);
        for _ in 0..200 {
            let at = now + random() % (1000 * GRAIN_NS);
            wheel.insert(at, at);
            while let Some(next) = wheel.next_ns() {
                now = now.max(next);
                if let Some(popped) = wheel.pop(now) {
                    assert_eq!(popped, at);
                    assert!(now >= at && now < at + 2 * GRAIN_NS, "{at} at {now}");
                }
            }
            assert!(wheel.is_empty());
        }
    }

    /// Connections whose deadlines move as requests come and go are each found within two grains of their real deadline.
    #[test]
    fn moving_deadlines_are_met_without_touching_the_wheel() {
        let seed = 0x5851_f42d_4c95_7f2d;
        let mut random = random(seed);
        let shortest = 20 * GRAIN_NS;
        let mut now = 0;
        let mut timers = Timers::new(now, shortest);
        let mut deadlines = vec![0u64; 64];
        for (slot, deadline) in deadlines.iter_mut().enumerate() {
            *deadline = now + shortest + random() % (5 * shortest);
            timers.watch(slot, slot, now);
        }
        for _ in 0..20_000 {
            now += random() % GRAIN_NS;
            let slot = random() as usize % deadlines.len();
            deadlines[slot] = now + shortest + random() % (5 * shortest);
            timers.watch(slot, slot, now);
            while let Some(slot) = timers.pop(now) {
                if deadlines[slot] <= now {
                    deadlines[slot] = now + shortest + random() % (5 * shortest);
                }
                timers.again(slot, Some(deadlines[slot]), now);
            }
            let late = deadlines.iter().find(|deadline| **deadline + 2 * GRAIN_NS <= now);
            assert_eq!(late, None, "seed {seed:#x} at {now}");
        }
        assert_eq!(timers.wheel.len(), deadlines.len(), "one entry a slot");
    }
}
