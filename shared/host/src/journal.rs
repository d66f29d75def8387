//! The journal of changed settings: written to disk before the setting is, so that no crash can lose the old value.
//!
//! Invariants:
//! - A line with the old value is on disk (fdatasync) before the file it names is written. A torn last line therefore
//!   belongs to a change that never happened, and is dropped.
//! - One journal is open at a time: the lock is held from before the first line is read until after the last is undone.
//!   The kernel lets go of the lock when the process ends, however it ends.
//! - Changes are undone newest first, so that a setting changed twice gets its first value back.
//! - Only files below /proc/sys and /sys are ever written, whatever a journal names.
//!
//! What a signal does is the caller's: its stop flag ends the work, and dropping the journal undoes the changes. After a
//! crash the next [`Journal::open`] undoes them, or [`restore`] when asked. A reboot undoes everything by itself: entries
//! of another boot are void.

mod log;
mod undo;

use std::io;
use std::path::{Path, PathBuf};

use crate::root::Root;
use crate::setting::{read_value, write_value};
use log::{Entry, Line, Log, parse};
pub use undo::{Outcome, Undone};
use undo::{is_setting, undo_entry};

/// The journal's name in its directory.
pub const LOG_NAME: &str = "journal.jsonl";
/// The lock's name; it holds the process id of its owner.
pub const LOCK_NAME: &str = "lock";

/// Why a change could not be journalled, made or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another run is changing settings.
    #[error("another run (process {holder}) is changing settings ({}); wait for it or end it", path.display())]
    Locked {
        /// Its process id, as far as the lock tells.
        holder: String,
        /// The lock.
        path: PathBuf,
    },
    /// The directory or a file in it can't be used.
    #[error("the journal {} can't be used: {error}; name another directory with --journal", path.display())]
    Unusable {
        /// What was tried.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A line in the middle can't be read: something else wrote here.
    #[error("line {line} of {} can't be read ({reason}); look at it, restore by hand, then delete it", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file is no setting.
    #[error("{} lies outside /proc/sys and /sys: not a setting, not written", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// The setting can't be read or written.
    #[error("{} can't be set: {error}", path.display())]
    Refused {
        /// The setting's file.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
}

/// Changes settings and undoes them when dropped.
pub struct Journal {
    /// `None` keeps the old values in memory only: for a sandbox, whose settings die with it.
    log: Option<Log>,
    root: Root,
    /// Own changes that aren't undone, oldest first.
    entries: Vec<Entry>,
    /// Changes of earlier runs that were left on purpose or could not be undone.
    earlier: Vec<Entry>,
    recovered: Vec<Undone>,
    next: u64,
}

/// Where the journal is by default: the system's state directory for root, the user's own for others.
#[must_use]
pub fn default_directory() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/ringshot");
    }
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
    state.unwrap_or_else(std::env::temp_dir).join("ringshot")
}

/// Undoes everything that earlier runs left, on purpose or by a crash. With `dry_run` it only says what it would do.
///
/// # Errors
/// When another run is alive, or the journal can't be read. What can't be undone is no error but an [`Outcome::Failed`].
pub fn restore(directory: &Path, root: &Root, dry_run: bool) -> Result<Vec<Undone>, JournalError> {
    if dry_run && !directory.join(LOG_NAME).exists() {
        return Ok(Vec::new());
    }
    let mut journal = Journal::lock(directory, root)?;
    if dry_run {
        return Ok(journal.earlier.iter().rev().map(|entry| undo_entry(root, entry, true)).collect());
    }
    journal.undo_earlier(|_| true)?;
    Ok(std::mem::take(&mut journal.recovered))
}

impl Journal {
    /// Opens the journal for a run, and first undoes what a crashed run left ([`recovered`](Self::recovered) tells).
    ///
    /// # Errors
    /// When another run is alive, or the journal can't be read or written.
    pub fn open(directory: &Path, root: &Root) -> Result<Self, JournalError> {
        let mut journal = Self::lock(directory, root)?;
        journal.undo_earlier(|entry| !entry.kept)?;
        Ok(journal)
    }

    /// A journal without a file, for use inside a sandbox.
    #[must_use]
    pub fn in_memory(root: &Root) -> Self {
        Self { log: None, root: root.clone(), entries: Vec::new(), earlier: Vec::new(), recovered: Vec::new(), next: 0 }
    }

    fn lock(directory: &Path, root: &Root) -> Result<Self, JournalError> {
        let (log, text) = Log::open(directory)?;
        let (earlier, next) = parse(&log.path, &text)?;
        let mut journal = Self::in_memory(root);
        (journal.log, journal.earlier, journal.next) = (Some(log), earlier, next);
        Ok(journal)
    }

    /// What of a crashed run was undone when this journal was opened.
    #[must_use]
    pub fn recovered(&self) -> &[Undone] {
        &self.recovered
    }

    /// Writes one setting and returns what it reads as afterwards.
    ///
    /// # Errors
    /// When the line can't be put on disk (then nothing is changed) or the kernel refuses the value.
    pub fn set(&mut self, knob: &str, path: &Path, value: &str) -> Result<String, JournalError> {
        if !is_setting(&self.root, path) {
            return Err(JournalError::Outside { path: path.to_path_buf() });
        }
        let refused = |error| JournalError::Refused { path: path.to_path_buf(), error };
        let entry = Entry {
            seq: self.next,
            boot: self.root.boot_id(),
            namespace: self.root.network_namespace(),
            knob: knob.to_owned(),
            path: path.to_path_buf(),
            old: read_value(path).map_err(refused)?,
            new: value.to_owned(),
            kept: false,
        };
        self.append(&Line::Set(entry.clone()))?;
        self.next += 1;
        if let Err(error) = write_value(path, value) {
            self.append(&Line::Undone { seq: entry.seq })?;
            return Err(refused(error));
        }
        self.entries.push(entry);
        read_value(path).map_err(refused)
    }

    /// Undoes this run's changes, newest first. What failed stays in the journal for [`restore`].
    pub fn undo(&mut self) -> Vec<Undone> {
        let mut report = Vec::new();
        while let Some(entry) = self.entries.pop() {
            let undone = undo_entry(&self.root, &entry, false);
            if undone.outcome.is_settled() {
                // A line that can't be written does no harm: restore then finds the old value in place already.
                let _ = self.append(&Line::Undone { seq: entry.seq });
            } else {
                self.earlier.push(entry);
            }
            report.push(undone);
        }
        let _ = self.clear_if_settled();
        report
    }

    /// Ends the run without undoing: the values stay until [`restore`].
    ///
    /// # Errors
    /// When that can't be written down; the changes are then undone.
    pub fn keep(mut self) -> Result<(), JournalError> {
        for index in 0..self.entries.len() {
            self.append(&Line::Kept { seq: self.entries[index].seq })?;
        }
        self.earlier.append(&mut self.entries);
        Ok(())
    }

    /// `earlier` shrinks only when all lines are written: an error on the way loses no entry.
    fn undo_earlier(&mut self, which: impl Fn(&Entry) -> bool) -> Result<(), JournalError> {
        let (undo, mut leave): (Vec<_>, Vec<_>) = self.earlier.iter().cloned().partition(which);
        for entry in undo.into_iter().rev() {
            let undone = undo_entry(&self.root, &entry, false);
            if undone.outcome.is_settled() {
                self.append(&Line::Undone { seq: entry.seq })?;
            } else {
                leave.push(entry);
            }
            self.recovered.push(undone);
        }
        leave.sort_by_key(|entry| entry.seq);
        self.earlier = leave;
        self.clear_if_settled()
    }

    fn append(&mut self, line: &Line) -> Result<(), JournalError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.append(line).map_err(|error| JournalError::Unusable { path: log.path.clone(), error })
    }

    fn clear_if_settled(&mut self) -> Result<(), JournalError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if !self.entries.is_empty() || !self.earlier.is_empty() {
            return Ok(());
        }
        log.clear().map_err(|error| JournalError::Unusable { path: log.path.clone(), error })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !self.entries.is_empty() {
            self.undo();
        }
    }
}

#[cfg(test)]
mod tests;
