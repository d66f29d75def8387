//! Rings, buffer rings and tokens: the only crate that talks io_uring.
