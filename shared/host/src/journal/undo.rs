//! Putting one old value back, or saying why that isn't to be done.

use std::path::{Component, Path, PathBuf};

use super::log::Entry;
use crate::root::Root;
use crate::setting::{read_value, same_value, write_value};

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The knob's id.
    pub knob: String,
    /// The file.
    pub path: PathBuf,
    /// The value before the change.
    pub old: String,
    /// The value that was found.
    pub found: String,
    /// What was done about it.
    pub outcome: Outcome,
}

/// What was done about one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The old value was written and read back.
    WrittenBack,
    /// The old value was there already.
    AlreadyBack,
    /// Only asked (dry run): the old value would be written.
    Would,
    /// The machine was booted since; the change went with the old boot.
    Rebooted,
    /// The change was made in another network namespace; it can only be undone from there, and is gone with it.
    OtherNamespace(String),
    /// It can't be undone.
    Failed(String),
}

impl Outcome {
    /// Whether nothing is left to undo.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self, Self::WrittenBack | Self::AlreadyBack | Self::Rebooted)
    }
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, old, found, .. } = self;
        let path = path.display();
        match &self.outcome {
            Outcome::WrittenBack => write!(f, "{path}: {found} -> {old}"),
            Outcome::AlreadyBack => write!(f, "{path}: is {old} already"),
            Outcome::Would => write!(f, "{path}: {found} -> {old} (not done: dry run)"),
            Outcome::Rebooted => write!(f, "{path}: the machine was booted since, nothing to undo"),
            Outcome::OtherNamespace(name) => {
                write!(
                    f,
                    "{path}: was changed in {name}; run restore from there (a namespace that is gone took it along)"
                )
            }
            Outcome::Failed(why) => write!(f, "{path}: still {found}, should be {old}: {why}"),
        }
    }
}

pub(super) fn undo_entry(root: &Root, entry: &Entry, dry_run: bool) -> Undone {
    let found = read_value(&entry.path).unwrap_or_else(|error| format!("unreadable ({error})"));
    let outcome = outcome_of(root, entry, &found, dry_run);
    Undone { knob: entry.knob.clone(), path: entry.path.clone(), old: entry.old.clone(), found, outcome }
}

fn outcome_of(root: &Root, entry: &Entry, found: &str, dry_run: bool) -> Outcome {
    if entry.boot != root.boot_id() {
        return Outcome::Rebooted;
    }
    if !is_setting(root, &entry.path) {
        return Outcome::Failed("not a file below /proc/sys or /sys".to_owned());
    }
    if is_namespaced(root, &entry.path) && entry.namespace != root.network_namespace() {
        return Outcome::OtherNamespace(entry.namespace.clone());
    }
    if same_value(found, &entry.old) {
        return Outcome::AlreadyBack;
    }
    if dry_run {
        return Outcome::Would;
    }
    match write_value(&entry.path, &entry.old).and_then(|()| read_value(&entry.path)) {
        Ok(now) if same_value(&now, &entry.old) => Outcome::WrittenBack,
        Ok(now) => Outcome::Failed(format!("written, but it reads {now}")),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

pub(super) fn is_setting(root: &Root, path: &Path) -> bool {
    let inside = path.starts_with(root.proc.join("sys")) || path.starts_with(&root.sys);
    inside && !path.components().any(|part| part == Component::ParentDir)
}

/// Whether the same path means another setting in another network namespace.
fn is_namespaced(root: &Root, path: &Path) -> bool {
    path.starts_with(root.sysctl("net")) || path.starts_with(root.sys.join("class/net"))
}
