//! The bounds of everything that a peer can make long.

/// What a peer may send at most. Each bound has an answer of its own, see [`Kind`](crate::Kind).
///
/// ```
/// use ringshot_http1::Limits;
/// const LIMITS: Limits = Limits::DEFAULT.with_body(16 << 20).with_fields(64);
/// assert_eq!(LIMITS.target, 16_384);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Octets of the request target; beyond: 414.
    pub target: u32,
    /// Octets of a head, with start line and final empty line; beyond: 431. At most [`Limits::HEAD_MAX`] counts.
    pub head: u32,
    /// Field lines of a head; beyond: 431.
    pub fields: u16,
    /// Octets of the method; beyond: 501. At least 7 count, so that every standard method fits.
    pub method: u8,
    /// Empty lines skipped before a start line (RFC 9112, section 2.2); beyond: 400.
    pub empty_lines: u8,
    /// Octets of all chunk extensions of one body together; beyond: 400.
    pub chunk_ext: u32,
    /// Octets of a trailer section; beyond: 431.
    pub trailer: u32,
    /// Octets of a decoded body; beyond: 413. A load tool that reads responses of any size says `u64::MAX`.
    pub body: u64,
    /// Interim responses before a final one. The codec sees one head at a time: whoever owns the connection counts.
    pub interim: u8,
}

impl Limits {
    /// What a server on an open network can afford.
    pub const DEFAULT: Self = Self {
        target: 16_384,
        head: 65_536,
        fields: 100,
        method: 32,
        empty_lines: 4,
        chunk_ext: 16_384,
        trailer: 16_384,
        body: 1 << 20,
        interim: 16,
    };

    /// No head may be longer than this, whatever `head` says: [`Resume`](crate::Resume) keeps 24 bits of offset.
    pub const HEAD_MAX: u32 = (1 << 24) - 1;

    /// The same limits with another bound on the target.
    pub const fn with_target(self, target: u32) -> Self {
        Self { target, ..self }
    }

    /// The same limits with another bound on the head.
    pub const fn with_head(self, head: u32) -> Self {
        Self { head, ..self }
    }

    /// The same limits with another bound on the number of field lines.
    pub const fn with_fields(self, fields: u16) -> Self {
        Self { fields, ..self }
    }

    /// The same limits with another bound on the method.
    pub const fn with_method(self, method: u8) -> Self {
        Self { method, ..self }
    }

    /// The same limits with another bound on leading empty lines.
    pub const fn with_empty_lines(self, empty_lines: u8) -> Self {
        Self { empty_lines, ..self }
    }

    /// The same limits with another bound on chunk extensions.
    pub const fn with_chunk_ext(self, chunk_ext: u32) -> Self {
        Self { chunk_ext, ..self }
    }

    /// The same limits with another bound on the trailer section.
    pub const fn with_trailer(self, trailer: u32) -> Self {
        Self { trailer, ..self }
    }

    /// The same limits with another bound on the body.
    pub const fn with_body(self, body: u64) -> Self {
        Self { body, ..self }
    }

    /// The same limits with another bound on interim responses.
    pub const fn with_interim(self, interim: u8) -> Self {
        Self { interim, ..self }
    }

    /// The bound on the method that is really kept.
    #[inline]
    pub(crate) fn method_len(&self) -> usize {
        usize::from(self.method.max(7))
    }

    /// The bound on the head that is really kept.
    #[inline]
    pub(crate) fn head_len(&self) -> usize {
        self.head.min(Self::HEAD_MAX) as usize
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
