//! The system calls themselves, where the crate's wrapper would lose the registered descriptor (T3). Part of the ring, and of its
//! invariants.

use std::os::fd::RawFd;

use io_uring::types::{SubmitArgs, Timespec};

use crate::errno::Errno;

const EXT_ARG: u32 = 1 << 3;
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// io_uring_enter(2). Returns how many entries the kernel took. What these point to is owned by the ring that pushed them.
pub(super) fn enter(fd: RawFd, to_submit: u32, min: u32, flags: u32, timeout: Option<&Timespec>) -> Result<u32, Errno> {
    let args = timeout.map(|timeout| SubmitArgs::new().timespec(timeout));
    let (flags, arg, len_bytes) = match &args {
        Some(args) => {
            (flags | EXT_ARG, std::ptr::from_ref(args).cast::<libc::c_void>(), size_of::<SubmitArgs<'_, '_>>())
        }
        None => (flags, std::ptr::null(), 0),
    };
    // SAFETY: the arguments are those of the system call; `arg` is null or points to `args`, which lives until after the call.
    // What the entries point to is owned by the ring (see `Ring::try_push`).
    let result = unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, to_submit, min, flags, arg, len_bytes) };
    u32::try_from(result).map_err(|_| errno_of(&std::io::Error::last_os_error()))
}

/// `struct io_uring_rsrc_update` of the kernel's interface.
#[repr(C)]
struct RingFdUpdate {
    offset: u32,
    resv: u32,
    data: u64,
}

/// Registers the ring's descriptor for this thread, so that no call has to look it up. `None` where the kernel can't.
pub(super) fn register_ring_fd(fd: RawFd) -> Option<u32> {
    let mut update = RingFdUpdate { offset: u32::MAX, resv: 0, data: fd as u64 };
    // SAFETY: one update, which lives across the call; the kernel writes the index into its `offset`.
    let registered = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut update, 1) };
    (registered == 1).then_some(update.offset)
}

/// The registration belongs to the thread and would outlive the ring.
pub(super) fn unregister_ring_fd(fd: RawFd, index: u32) {
    let update = RingFdUpdate { offset: index, resv: 0, data: 0 };
    // SAFETY: one update, which lives across the call and is only read.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, UNREGISTER_RING_FDS, &raw const update, 1) };
}

/// The kernel's number within an error of the standard library.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}
