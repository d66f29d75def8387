//! What a check says when it does not hold: one sentence, collected over many cases and printed as it is.

use std::fmt;

/// Why a check failed.
pub struct Failure(String);

/// The result of a check, and of a whole test.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same failure, with the case that it happened in before it.
    #[must_use]
    pub fn within(self, case: impl fmt::Display) -> Self {
        Self(format!("{case}: {}", self.0))
    }
}

/// `Err` with a formatted [`Failure`].
#[macro_export]
macro_rules! fail {
    ($($text:tt)*) => { Err($crate::failure::Failure::new(format!($($text)*))) };
}

/// Leaves the function with a [`Failure`] unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($text:tt)*) => { if !$holds { return $crate::fail!($($text)*); } };
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// A test that returns `Err` is reported with `Debug`; line breaks must survive it.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Bytes as a reader of a failure wants them: printable, escaped, and not endless.
pub fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 400;
    let head = bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii();
    match bytes.len() {
        0..=SHOWN_BYTES => format!("\"{head}\""),
        len => format!("\"{head}\"... ({len} bytes)"),
    }
}
