//! A directory of a test's own, gone when the test is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::failure::Outcome;

/// A fresh directory under the system's temporary one; removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes the directory.
    pub fn new(name: &str) -> Outcome<Self> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ringshot-{name}-{}-{serial}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes one file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it, and a test that failed should report its own failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
