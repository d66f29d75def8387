//! A root directory for tests that read `/proc` and `/sys`.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// Writes `files` (path without the leading slash, text) below a new directory, which goes away with the result.
pub(crate) fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(Path::new(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}
