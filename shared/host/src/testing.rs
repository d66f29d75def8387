//! A machine made of plain files, for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::root::Root;

/// A directory of its own that stands for the machine and is removed at the end.
pub(crate) struct FakeRoot {
    pub(crate) root: Root,
    directory: PathBuf,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl FakeRoot {
    pub(crate) fn new(name: &str) -> Self {
        let unique = format!("ringshot-{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&directory).expect("a temporary directory");
        let fake = Self { root: Root::under(&directory), directory };
        fake.put("proc/sys/kernel/random/boot_id", "boot-1\n");
        fake
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a file with its directories.
    pub(crate) fn put(&self, file: &str, contents: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories");
        std::fs::write(path, contents).expect("a file");
    }

    pub(crate) fn get(&self, file: &str) -> String {
        Root::read(&self.path(file)).expect("the file is there")
    }
}

impl Drop for FakeRoot {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
