//! An error number of the kernel as a type: the sign has been taken off once and for all.

/// A positive errno value, as errno(3) lists them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// No buffer was free for a receive (trap: reported at once, even with no data there).
    pub const NO_BUFFERS: Self = Self(libc::ENOBUFS);
    /// The operation was ended by a cancel, or by the ring going away.
    pub const CANCELED: Self = Self(libc::ECANCELED);
    /// The peer reset the connection.
    pub const RESET: Self = Self(libc::ECONNRESET);

    /// Whether a receive found no free buffer.
    #[must_use]
    pub fn is_no_buffers(self) -> bool {
        self == Self::NO_BUFFERS
    }

    /// Whether the operation was cancelled.
    #[must_use]
    pub fn is_canceled(self) -> bool {
        self == Self::CANCELED
    }

    /// Whether a limit on descriptors was met: the process's (EMFILE) or the machine's (ENFILE).
    #[must_use]
    pub fn is_fd_limit(self) -> bool {
        matches!(self.0, libc::EMFILE | libc::ENFILE)
    }

    /// Whether the kernel lacked memory for the moment.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self.0 == libc::ENOMEM
    }

    /// Whether the peer ended the connection without order (reset or broken pipe).
    #[must_use]
    pub fn is_reset(self) -> bool {
        matches!(self.0, libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED)
    }

    /// Whether nobody listens at the address.
    #[must_use]
    pub fn is_refused(self) -> bool {
        self.0 == libc::ECONNREFUSED
    }

    /// Whether the kernel does not know the operation or one of its flags.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        self.0 == libc::EINVAL
    }
}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::io::Error::from(*self).fmt(f)
    }
}

impl std::fmt::Debug for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Errno({}: {self})", self.0)
    }
}

impl std::error::Error for Errno {}
