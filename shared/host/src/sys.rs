//! The one system call for which neither `rustix` nor `socket2` has a safe wrapper. The only unsafe file of this crate.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// One instruction of classic BPF, in the layout of `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    /// How many instructions to skip when a comparison holds.
    pub(crate) jt: u8,
    /// How many to skip when it doesn't.
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

/// Gives the `SO_REUSEPORT` group of `socket` a program whose result is the index of the listener that gets a connection
/// (`SO_ATTACH_REUSEPORT_CBPF`, Linux 4.5). The kernel checks the program and keeps a copy.
pub(crate) fn attach_reuseport_cbpf(socket: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let mut filters: Vec<libc::sock_filter> =
        program.iter().map(|&Instruction { code, jt, jf, k }| libc::sock_filter { code, jt, jf, k }).collect();
    let len = u16::try_from(filters.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let option = libc::sock_fprog { len, filter: filters.as_mut_ptr() };
    // SAFETY: the kernel reads `size_of::<sock_fprog>()` bytes at `option` and `len` filters behind its pointer, only during the
    // call. Both belong to this frame and outlive it: `filters` is neither moved nor dropped before the end, and `len` is its
    // length. `socket` is open, because `AsFd` borrows it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const option).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
