//! The few calls for which neither `rustix` nor `socket2` has a safe wrapper. The only unsafe file of this crate.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The descriptor of an object that only tells its number, as those of other runtimes do.
pub(crate) fn borrowed<T: AsRawFd>(owner: &T) -> BorrowedFd<'_> {
    // SAFETY: the number is that of `owner`, which holds it open for as long as it lives, and the result lives no longer
    // than the borrow of `owner`. Types that lie about their number break the I/O safety of std, not memory.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}

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

/// Moves the calling thread into new namespaces, unshare(2).
///
/// # Errors
/// As the kernel says: EPERM without the privilege, ENOSPC at the limit on namespaces.
///
/// # Panics
/// When asked to unshare the table of descriptors.
pub(crate) fn unshare_namespaces(flags: UnshareFlags) -> rustix::io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES), "namespaces only");
    // SAFETY: the call is unsafe only for its effect on other threads' descriptors, which needs FILES: refused above.
    unsafe { unshare_unsafe(flags) }
}

/// Where tcpi_options lies in struct tcp_info (linux/tcp.h); what is before it has kept its place since Linux 2.4.
const TCPI_OPTIONS_OFFSET: usize = 5;

/// The options that a connection agreed on: tcpi_options of getsockopt(TCP_INFO), a set of TCPI_OPT_* bits.
///
/// # Errors
/// As the kernel says; ENODATA when it gave fewer bytes than that.
pub(crate) fn tcp_info_options(socket: BorrowedFd<'_>) -> io::Result<u8> {
    let mut head = [0_u8; 8];
    let mut len = head.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `head`, which has that many, and the length to `len`; both are ours
    // and outlive the call. The descriptor is open for as long as the borrow lasts.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            head.as_mut_ptr().cast(),
            std::ptr::from_mut(&mut len),
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if (len as usize) <= TCPI_OPTIONS_OFFSET {
        return Err(io::Error::from_raw_os_error(libc::ENODATA));
    }
    Ok(head[TCPI_OPTIONS_OFFSET])
}
