//! Setting a knob: every file of it, journalled, read back, and undone together.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::journal::{Journal, JournalError, Undone};
use crate::knob::fit::refusal;
use crate::knob::{At, Knob, Site, Skip};
use crate::root::Root;
use crate::setting::{read_value, same_value};

/// No setting of a kernel is longer.
const MAX_VALUE_BYTES: usize = 4000;

/// Why a knob was not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// It can't be set here.
    #[error("{0}")]
    Skipped(Skip),
    /// The text is no value of any setting.
    #[error("not a value: {0:?}")]
    Value(String),
    /// The kernel took the write and kept another value.
    #[error("{place} was given {wanted} and reads {found}: the kernel did not take it")]
    NotTaken {
        /// Where it was written.
        place: String,
        /// What was written.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// The journal could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// One place that a knob was or would be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file or call.
    pub place: String,
    /// The value before.
    pub old: String,
    /// The value asked for.
    pub new: String,
}

/// What is set in this run. Dropping it undoes everything.
pub struct Changes {
    journal: Journal,
    /// Each is a value for as long as it is open.
    held: Vec<File>,
    nofile: Option<Rlimit>,
}

impl Knob {
    /// The value there is now; `None` when there is none to read. Queues that differ are listed with commas.
    #[must_use]
    pub fn current(&self, at: &At<'_>) -> Option<String> {
        if let Site::NoFile = self.site {
            return Some(getrlimit(Resource::Nofile).current.map_or_else(|| "unlimited".to_owned(), |n| n.to_string()));
        }
        let files = self.site.files(at.root, at.device);
        let read = |file: &PathBuf| match self.site {
            Site::Hold(_) => File::open(file).and_then(|mut file| read_held(&mut file)).ok(),
            _ => read_value(file).ok(),
        };
        let mut values: Vec<String> = files.iter().filter_map(read).collect();
        values.dedup();
        if values.is_empty() { None } else { Some(values.join(", ")) }
    }

    /// What setting it would write, without writing.
    ///
    /// # Errors
    /// When it can't be set here, or the text can't be a value.
    pub fn plan(&self, at: &At<'_>, value: &str) -> Result<Vec<Step>, ChangeError> {
        check_value(value)?;
        if let Some(skip) = self.obstacle(at) {
            return Err(ChangeError::Skipped(skip));
        }
        let files = self.site.files(at.root, at.device);
        let step = |place: String, old: Option<String>| Step {
            place,
            old: old.unwrap_or_else(|| "unknown".to_owned()),
            new: value.to_owned(),
        };
        Ok(match self.site {
            Site::NoFile | Site::Hold(_) => vec![step(self.site.describe(at.device), self.current(at))],
            _ => files.iter().map(|file| step(file.display().to_string(), read_value(file).ok())).collect(),
        })
    }
}

impl Changes {
    /// Nothing changed yet.
    #[must_use]
    pub fn new(journal: Journal) -> Self {
        Self { journal, held: Vec::new(), nofile: None }
    }

    /// The journal that these changes are written down in.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Sets a knob in all its places and reads each back.
    ///
    /// # Errors
    /// When it can't be set here or the kernel keeps another value. Places that were written by then are undone with
    /// the rest.
    pub fn set(&mut self, knob: &Knob, at: &At<'_>, value: &str) -> Result<Vec<Step>, ChangeError> {
        let steps = knob.plan(at, value)?;
        match knob.site {
            Site::NoFile => self.set_nofile(value)?,
            Site::Hold(_) => self.hold(&knob.site.files(at.root, at.device), value)?,
            _ => {
                for file in knob.site.files(at.root, at.device) {
                    let found = self.journal.set(knob.id, &file, value).map_err(kernel_refusal)?;
                    check_taken(&file.display().to_string(), value, &found)?;
                }
            }
        }
        Ok(steps)
    }

    fn set_nofile(&mut self, value: &str) -> Result<(), ChangeError> {
        let wanted: u64 = value.parse().map_err(|_| ChangeError::Value(value.to_owned()))?;
        let old = getrlimit(Resource::Nofile);
        let maximum = old.maximum.map(|maximum| maximum.max(wanted));
        let refused = |errno: rustix::io::Errno| {
            ChangeError::Skipped(refusal(Path::new("setrlimit(RLIMIT_NOFILE)"), errno.into()))
        };
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_err(refused)?;
        self.nofile.get_or_insert(old);
        Ok(())
    }

    /// /dev/cpu_dma_latency takes four bytes in the machine's order, and forgets them when it is closed.
    fn hold(&mut self, files: &[PathBuf], value: &str) -> Result<(), ChangeError> {
        let wanted: i32 = value.parse().map_err(|_| ChangeError::Value(value.to_owned()))?;
        for path in files {
            let skipped = |error| ChangeError::Skipped(refusal(path, error));
            let mut file = File::options().read(true).write(true).open(path).map_err(skipped)?;
            file.write_all(&wanted.to_ne_bytes()).map_err(skipped)?;
            let found = read_held(&mut file).map_err(skipped)?;
            check_taken(&path.display().to_string(), value, &found)?;
            self.held.push(file);
        }
        Ok(())
    }

    /// Undoes everything, newest first, and says what became of each.
    #[must_use]
    pub fn undo(mut self) -> Vec<Undone> {
        self.journal.undo()
    }

    /// Leaves the journalled values until `restore`; what a descriptor or a process holds ends with it all the same.
    ///
    /// # Errors
    /// When that can't be written down; everything is undone then.
    pub fn keep(mut self) -> Result<(), JournalError> {
        let memory = Journal::in_memory(&Root::host());
        std::mem::replace(&mut self.journal, memory).keep()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        if let Some(old) = self.nofile.take() {
            // Lowering is always allowed, and the limit ends with the process anyway.
            let _ = setrlimit(Resource::Nofile, old);
        }
    }
}

fn read_held(file: &mut File) -> std::io::Result<String> {
    let mut bytes = [0; 4];
    file.rewind()?;
    file.read_exact(&mut bytes)?;
    Ok(i32::from_ne_bytes(bytes).to_string())
}

fn check_value(value: &str) -> Result<(), ChangeError> {
    let is_value =
        !value.is_empty() && value.len() <= MAX_VALUE_BYTES && !value.contains(|c: char| c.is_control() && c != '\t');
    if is_value { Ok(()) } else { Err(ChangeError::Value(value.to_owned())) }
}

fn check_taken(place: &str, wanted: &str, found: &str) -> Result<(), ChangeError> {
    if same_value(wanted, found) {
        return Ok(());
    }
    Err(ChangeError::NotTaken { place: place.to_owned(), wanted: wanted.to_owned(), found: found.to_owned() })
}

/// A setting that the kernel won't take is skipped with the reason; a journal that can't be kept is an error.
fn kernel_refusal(error: JournalError) -> ChangeError {
    match error {
        JournalError::Refused { path, error } => ChangeError::Skipped(refusal(&path, error)),
        other => ChangeError::Journal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::find;
    use crate::testing::FakeRoot;

    fn machine() -> FakeRoot {
        let fake = FakeRoot::new("change");
        fake.put("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
        fake.put("sys/class/net/lo/queues/rx-0/rps_cpus", "0\n");
        fake.put("sys/class/net/lo/queues/rx-1/rps_cpus", "0\n");
        fake.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        fake.put("dev/cpu_dma_latency", "\0\0\0\0");
        fake
    }

    #[test]
    fn a_knob_is_planned_set_read_back_and_undone() {
        let fake = machine();
        let at = At { root: &fake.root, device: "lo" };
        for (id, value, places, old) in [
            ("ipv4.tcp_rmem", "4096 16384 6291456", 1, "4096\t131072\t6291456"),
            ("dev.rps_cpus", "2", 2, "0"),
            ("vm.transparent_hugepage", "never", 1, "madvise"),
            ("dev.cpu_dma_latency", "20", 1, "0"),
            ("nofile", "77", 1, ""),
        ] {
            let knob = find(id).expect(id);
            let before = knob.current(&at).expect(id);
            let plan = knob.plan(&at, value).expect(id);
            assert_eq!((plan.len(), plan[0].new.as_str()), (places, value), "{id}");
            assert!(old.is_empty() || plan[0].old == old, "{id}: {plan:?}");
            assert_eq!(knob.current(&at).as_deref(), Some(before.as_str()), "{id}: a plan changes nothing");
            let mut changes = Changes::new(Journal::in_memory(&fake.root));
            assert_eq!(changes.set(knob, &at, value).expect(id), plan);
            assert_eq!(knob.current(&at).as_deref(), Some(value), "{id}");
            let undone = changes.undo();
            assert!(undone.iter().all(|undone| undone.outcome.is_settled()), "{id}: {undone:?}");
            let is_held = matches!(knob.site, Site::Hold(_));
            assert!(is_held || knob.current(&at).as_deref() == Some(before.as_str()), "{id} is back");
        }
    }

    #[test]
    fn what_cannot_be_set_says_why() {
        let fake = machine();
        let at = At { root: &fake.root, device: "lo" };
        for (id, value, reason) in [
            ("ipv4.tcp_sack", "0", "not in this kernel or namespace"),
            ("ipv4.tcp_tw_recycle", "1", "removed in Linux 4.12"),
            ("boot.mitigations", "off", "chosen at boot"),
            ("ipv4.tcp_rmem", "", "not a value"),
            ("ipv4.tcp_rmem", "1\n2", "not a value"),
            ("nofile", "many", "not a value"),
            ("dev.cpu_dma_latency", "deep", "not a value"),
            ("nf.conntrack", "1", "set by `nft"),
        ] {
            let mut changes = Changes::new(Journal::in_memory(&fake.root));
            let error = changes.set(find(id).expect(id), &at, value).expect_err(id).to_string();
            assert!(error.contains(reason), "{id}={value}: {error}");
        }
    }
}
