//! Counts the octets that are looked at, in tests of the work bound. Elsewhere it is nothing.

#[cfg(test)]
std::thread_local! {
    static EXAMINED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// A pass over `octets` octets begins.
#[inline(always)]
pub(crate) fn examine(octets: usize) {
    #[cfg(test)]
    EXAMINED.with(|examined| examined.set(examined.get() + octets));
    #[cfg(not(test))]
    let _ = octets;
}

/// What this thread has examined since it last asked.
#[cfg(test)]
pub(crate) fn take() -> usize {
    EXAMINED.with(core::cell::Cell::take)
}
