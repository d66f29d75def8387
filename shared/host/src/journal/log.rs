//! The file of the journal and the lock that guards it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{JournalError, LOCK_NAME, LOG_NAME};
use crate::root::Root;

/// One line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line {
    /// About to write `new`.
    Set(Entry),
    /// The old value is back, or the change never happened.
    Undone { seq: u64 },
    /// The run ended on purpose without undoing: it was told to leave the value.
    Kept { seq: u64 },
}

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) boot: String,
    pub(super) namespace: String,
    pub(super) knob: String,
    pub(super) path: PathBuf,
    pub(super) old: String,
    pub(super) new: String,
    #[serde(skip)]
    pub(super) kept: bool,
}

/// The file of lines, with the lock that guards it.
pub(super) struct Log {
    pub(super) path: PathBuf,
    file: File,
    _lock: Lock,
}

impl Log {
    /// Locks and reads; a torn last line is cut off.
    pub(super) fn open(directory: &Path) -> Result<(Self, String), JournalError> {
        let unusable = |path: &Path| {
            let path = path.to_path_buf();
            move |error| JournalError::Unusable { path, error }
        };
        // Others must not be able to plant lines in a journal that root will follow.
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory).map_err(unusable(directory))?;
        let lock = take_lock(&directory.join(LOCK_NAME))?;
        let path = directory.join(LOG_NAME);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(unusable(&path))?;
        sync_directory(directory).map_err(unusable(directory))?;
        let bytes = std::fs::read(&path).map_err(unusable(&path))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(unusable(&path))?;
        file.seek(io::SeekFrom::End(0)).map_err(unusable(&path))?;
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        Ok((Self { path, file, _lock: lock }, text))
    }

    pub(super) fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }

    /// An empty file says more clearly than a long one that nothing is left to do.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.sync_data()
    }
}

/// The name of a new file is safe only once its directory is (fsync(2)).
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The lock, let go of in so many words: a child that has been forked and not yet executed shares the descriptor, and
/// closing ours alone would leave it locked until then.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Fails only for a descriptor that is none.
        let _ = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

fn take_lock(path: &Path) -> Result<Lock, JournalError> {
    let unusable = |error| JournalError::Unusable { path: path.to_path_buf(), error };
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(path).map_err(unusable)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let holder = Root::read(path).filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned());
            return Err(JournalError::Locked { holder, path: path.to_path_buf() });
        }
        Err(errno) => return Err(unusable(errno.into())),
    }
    file.set_len(0).map_err(unusable)?;
    writeln!(file, "{}", std::process::id()).map_err(unusable)?;
    Ok(Lock(file))
}

/// The entries that aren't undone, oldest first, and the next number.
pub(super) fn parse(path: &Path, text: &str) -> Result<(Vec<Entry>, u64), JournalError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut next = 0;
    for (index, line) in text.lines().enumerate() {
        let damaged = |error: serde_json::Error| JournalError::Damaged {
            path: path.to_path_buf(),
            line: index + 1,
            reason: error.to_string(),
        };
        match serde_json::from_str(line).map_err(damaged)? {
            Line::Set(entry) => {
                next = entry.seq + 1;
                entries.push(entry);
            }
            Line::Undone { seq } => entries.retain(|entry| entry.seq != seq),
            Line::Kept { seq } => {
                entries.iter_mut().filter(|entry| entry.seq == seq).for_each(|entry| entry.kept = true)
            }
        }
    }
    Ok((entries, next))
}
