//! Provided buffers: memory that the kernel picks from when data arrives.
//!
//! One allocation holds all buffers, another the ring of entries through which free ones are handed over. A buffer is at
//! every moment in exactly one of two hands: the kernel's (its entry is published) or ours (a [`BufId`] exists). The
//! `BufId` is neither `Copy` nor `Clone` and is made only from a completion with F_BUFFER set, so a buffer can't be handed
//! back twice, nor one that was never lent (frevib/io_uring-echo-server#23).
//!
//! # Padding
//! The kernel is told a length that is [`PADDING_BYTES`] short of the buffer's, so the bytes behind the data are always
//! ours to read and no scan needs code for the end of memory.
#![allow(unsafe_code)] // Memory shared with the kernel; design rule: only here and in ring.rs.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// Readable bytes behind the longest data that a buffer can hold.
pub const PADDING_BYTES: usize = 64;
/// Most entries that the kernel takes in one ring.
pub const MAX_BUFFERS: u16 = 32768;
const PAGE_BYTES: usize = 4096;

/// A buffer that the kernel has lent us, with the number of bytes it put in.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a buffer that isn't released is lost to the ring"]
pub struct BufId {
    bid: u16,
    len: u32,
}

impl BufId {
    /// Bytes of data in the buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it holds no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A page-aligned, zeroed allocation.
struct Pages {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    fn new(len_bytes: usize) -> Self {
        let layout =
            Layout::from_size_align(len_bytes.max(PAGE_BYTES), PAGE_BYTES).unwrap_or(Layout::new::<[u8; PAGE_BYTES]>());
        // SAFETY: the layout's size is at least a page, so not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        match NonNull::new(ptr) {
            Some(ptr) => Self { ptr, layout },
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `ptr` came from `alloc_zeroed` with this very layout and is freed once, here.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) }
    }
}

/// The buffers and the ring of free ones. Dropping it frees the memory: its owner must have closed the ring before.
pub struct BufRing {
    entries: Pages,
    memory: Pages,
    count: u16,
    stride_bytes: usize,
    /// Next position to publish, as the kernel counts: wraps at 2^16, masked by `count - 1`.
    tail: u16,
    /// In our hands, by buffer. Invariant: `lent[bid]` exactly while a `BufId` of that buffer exists.
    lent: Vec<bool>,
    lent_count: usize,
}

impl BufRing {
    /// `count` buffers (a power of two up to [`MAX_BUFFERS`]) of `stride_bytes` each, all of them free.
    ///
    /// # Panics
    /// When the count is no power of two, or a buffer would have no room beside its padding: a fault of the caller.
    #[must_use]
    pub fn new(count: u16, stride_bytes: u32) -> Self {
        assert!(
            count.is_power_of_two() && count <= MAX_BUFFERS,
            "buffer count {count} is not a power of two up to {MAX_BUFFERS}"
        );
        let stride_bytes = stride_bytes as usize;
        assert!(stride_bytes > PADDING_BYTES, "buffers of {stride_bytes} bytes have no room beside their padding");
        let mut ring = Self {
            entries: Pages::new(count as usize * size_of::<BufRingEntry>()),
            memory: Pages::new(count as usize * stride_bytes),
            count,
            stride_bytes,
            tail: 0,
            lent: vec![false; count as usize],
            lent_count: 0,
        };
        for bid in 0..count {
            ring.publish_later(bid);
        }
        ring.commit();
        ring
    }

    /// Address of the entries, for registration.
    #[must_use]
    pub fn entries_addr(&self) -> u64 {
        self.entries.ptr.as_ptr() as u64
    }

    /// Number of buffers.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Buffers that the kernel can still fill, as far as the completions seen tell.
    #[must_use]
    pub fn free(&self) -> usize {
        self.count as usize - self.lent_count
    }

    /// Takes over the buffer that a completion names; `None` when it names one that we hold already or that is not ours,
    /// which would be a fault of the kernel.
    pub(crate) fn lend(&mut self, bid: u16, len: u32) -> Option<BufId> {
        let held = self.lent.get_mut(bid as usize)?;
        if *held || len as usize > self.stride_bytes - PADDING_BYTES {
            return None;
        }
        *held = true;
        self.lent_count += 1;
        Some(BufId { bid, len })
    }

    /// The data in a buffer.
    #[must_use]
    #[inline]
    pub fn bytes(&self, id: &BufId) -> &[u8] {
        assert!(self.is_lent(id.bid), "buffer {} is not lent by this ring", id.bid);
        let len = id.len().min(self.stride_bytes - PADDING_BYTES);
        // SAFETY: `bid < count` by the check above, so the range lies in `memory`, which is initialised (zeroed). The
        // buffer is in our hands (`lent`), so the kernel doesn't write to it until `release`, which takes the id away
        // and needs `&mut self`, so not while this borrow lives.
        unsafe { std::slice::from_raw_parts(self.start_of(id.bid), len) }
    }

    /// Whether buffer `bid` is in our hands.
    pub(crate) fn is_lent(&self, bid: u16) -> bool {
        self.lent.get(bid as usize) == Some(&true)
    }

    /// Puts data into a lent buffer, as the kernel would have done before lending it. For the scripted ring.
    pub(crate) fn fill(&mut self, id: &BufId, data: &[u8]) {
        assert!(self.is_lent(id.bid) && data.len() <= id.len(), "buffer {} is not lent at this length", id.bid);
        // SAFETY: as in `bytes`, and `&mut self` rules out that anybody reads it meanwhile.
        let target = unsafe { std::slice::from_raw_parts_mut(self.start_of(id.bid), data.len()) };
        target.copy_from_slice(data);
    }

    /// Hands a buffer back. The kernel sees it after [`commit`](Self::commit).
    ///
    /// # Panics
    /// When the id is of another ring and this one doesn't hold that buffer: publishing it would let the kernel write
    /// to memory that somebody reads.
    #[inline]
    pub fn release(&mut self, id: BufId) {
        let held = self.lent.get_mut(id.bid as usize).is_some_and(std::mem::take);
        assert!(held, "buffer {} is not lent by this ring", id.bid);
        self.lent_count -= 1;
        self.publish_later(id.bid);
    }

    /// First byte of buffer `bid`; within `memory` for every `bid < count`.
    fn start_of(&self, bid: u16) -> *mut u8 {
        self.memory.ptr.as_ptr().wrapping_add(bid as usize * self.stride_bytes)
    }

    fn publish_later(&mut self, bid: u16) {
        let position = (self.tail & (self.count - 1)) as usize;
        let addr = self.start_of(bid) as u64;
        let place = self.entries.ptr.cast::<BufRingEntry>().as_ptr().wrapping_add(position);
        // SAFETY: `position < count`, so the entry lies in `entries`, aligned to a page and thereby to the entry. The
        // kernel reads only entries between its head and the published tail; this one is behind the tail until `commit`.
        // At most `count` buffers exist and each is published at most once (`lent`), so the ring never overruns itself.
        let entry = unsafe { &mut *place };
        entry.set_addr(addr);
        entry.set_len((self.stride_bytes - PADDING_BYTES) as u32);
        entry.set_bid(bid);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Makes the released buffers visible to the kernel: one store with release order for all of them.
    #[inline]
    pub fn commit(&mut self) {
        let first = self.entries.ptr.cast::<BufRingEntry>().as_ptr();
        // SAFETY: `first` is the base of the ring's entries, a live allocation of at least one entry.
        let tail = unsafe { BufRingEntry::tail(first) };
        // SAFETY: the tail lies in the first entry, at an even offset. Only the kernel reads it beside us, so an atomic
        // view of it is right for as long as `entries` lives.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_in_one_hand_at_a_time() {
        let mut ring = BufRing::new(4, 128);
        let id = ring.lend(2, 64).expect("free");
        assert_eq!(ring.free(), 3);
        assert_eq!(ring.bytes(&id).len(), 64);
        assert_eq!(ring.lend(2, 1), None, "named twice by the kernel: refused");
        assert_eq!(ring.lend(9, 1), None, "not a buffer of ours");
        assert_eq!(ring.lend(1, 65), None, "more than the kernel was told it has");
        ring.release(id);
        ring.commit();
        assert_eq!(ring.free(), 4);
    }

    #[test]
    #[should_panic(expected = "not lent by this ring")]
    fn an_id_of_another_ring_is_refused() {
        let mut one = BufRing::new(4, 128);
        let mut other = BufRing::new(4, 128);
        let id = one.lend(0, 1).expect("free");
        other.release(id);
    }

    #[test]
    fn positions_wrap_for_ever() {
        let mut ring = BufRing::new(2, 128);
        for n in 0..200_000u32 {
            let id = ring.lend((n % 2) as u16, n % 65).expect("free");
            ring.release(id);
            ring.commit();
        }
        assert_eq!(ring.free(), 2);
    }
}
