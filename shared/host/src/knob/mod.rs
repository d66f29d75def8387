//! Every kernel setting that is said to matter to a server, one file each, with what is claimed and how to check it.
//!
//! An entry ([`Knob`]) is knowledge and no more: where the setting is, whom it reaches, when it takes effect, what it is
//! expected to do on loopback and on a network card and who says so, which values are worth trying, how to prove that it
//! took effect, and how it is undone. [`fit`](Knob::fit) says whether it can matter on this machine; [`change`] writes
//! and reads back; [`proof`] looks at what a new connection got. Undoing is the journal's work ([`crate::journal`]).
//!
//! Expected effects are hypotheses to be measured; "about 0" means below 1 %.

pub mod change;
pub mod entry;
pub mod fit;
pub mod proof;
pub mod site;

pub use entry::ALL;
pub use fit::{At, Fit, Skip};
pub use proof::{Effect, Proof, TcpOption};
pub use site::Site;

/// One setting.
#[derive(Debug)]
pub struct Knob {
    /// Unique: the sysctl's dotted name without `net.`, or a short name.
    pub id: &'static str,
    /// What it sets, in a few words.
    pub title: &'static str,
    /// Where it is set.
    pub site: Site,
    /// Whom a change reaches.
    pub scope: Scope,
    /// When a change takes effect.
    pub when: When,
    /// What to expect on loopback, small answers over kept connections.
    pub here: &'static str,
    /// What to expect on a network card.
    pub nic: &'static str,
    /// Who says so: kernel documentation, a commit, or a measurement.
    pub source: &'static str,
    /// Values worth trying, in the form that is written. Empty when there are none to choose from.
    pub values: &'static [&'static str],
    /// How to prove that a change took effect, beyond reading the value back.
    pub effect: Effect,
    /// How a change is undone.
    pub restore: Restore,
    /// What can go wrong.
    pub risk: &'static str,
    /// Whether it can matter there, given that it exists. Asked through [`fit`](Self::fit).
    pub applies: fn(&At<'_>) -> Fit,
}

/// Whom a change reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One network namespace.
    Namespace,
    /// One socket.
    Socket,
    /// One thread or process.
    Thread,
    /// One network device, and so the namespace it is in.
    Device,
    /// The whole machine.
    Host,
    /// The whole machine from its next boot on.
    Boot,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// For sockets, devices or processes made afterwards.
    New,
    /// At once.
    Live,
    /// After a reboot.
    Reboot,
    /// Never: there is nothing left to set.
    Never,
}

/// How a change is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// By writing the old value, which is journalled first.
    WriteBack,
    /// By the kernel, when the descriptor is closed or the process ends.
    Automatic,
    /// By booting with the old command line.
    Reboot,
    /// Nothing to undo.
    Nothing,
}

impl Scope {
    /// One word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Socket => "socket",
            Self::Thread => "thread",
            Self::Device => "device",
            Self::Host => "host",
            Self::Boot => "boot",
        }
    }

    /// Whether a change made in a sandbox stays in it.
    #[must_use]
    pub const fn is_contained(self) -> bool {
        matches!(self, Self::Namespace | Self::Device | Self::Socket | Self::Thread)
    }
}

impl When {
    /// A few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "what is made afterwards",
            Self::Live => "at once",
            Self::Reboot => "after a reboot",
            Self::Never => "never",
        }
    }
}

impl Restore {
    /// A few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteBack => "the old value is written back (journalled)",
            Self::Automatic => "the kernel, at close or exit",
            Self::Reboot => "a reboot with the old command line",
            Self::Nothing => "nothing to undo",
        }
    }
}

/// The knob of that id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Knob> {
    ALL.iter().copied().find(|knob| knob.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_found() {
        for (index, knob) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.id != knob.id), "{} twice", knob.id);
            assert_eq!(find(knob.id).map(|found| found.id), Some(knob.id));
        }
        assert!(find("no_such_knob").is_none());
    }

    #[test]
    fn the_five_of_the_write_ups_come_first() {
        let first: Vec<_> = ALL.iter().take(5).map(|knob| knob.id).collect();
        let five = ["nofile", "ipv4.tcp_timestamps", "ipv4.tcp_tw_recycle", "ipv4.tcp_tw_reuse", "unix.max_dgram_qlen"];
        assert_eq!(first, five);
    }

    #[test]
    fn every_entry_says_all_it_must() {
        for knob in ALL {
            for (field, text) in [
                ("title", knob.title),
                ("here", knob.here),
                ("nic", knob.nic),
                ("source", knob.source),
                ("risk", knob.risk),
            ] {
                assert!(!text.trim().is_empty(), "{}: {field} is empty", knob.id);
                assert!(!text.contains("  ") && !text.contains('\n'), "{}: {field} has odd spaces: {text}", knob.id);
            }
            let writable = matches!(knob.site, Site::Sysctl(_) | Site::Sys(_) | Site::Device(_) | Site::Hold(_));
            assert!(!writable || !knob.values.is_empty(), "{}: no value to try", knob.id);
        }
    }

    #[test]
    fn scope_when_and_restore_agree() {
        for knob in ALL {
            let id = knob.id;
            assert_eq!(knob.scope == Scope::Boot, matches!(knob.site, Site::Boot(_)), "{id}: boot is set at boot");
            assert_eq!(knob.when == When::Never, matches!(knob.site, Site::Removed { .. }), "{id}: gone is never");
            match knob.site {
                Site::Sysctl(_) | Site::Sys(_) | Site::Device(_) => {
                    assert_eq!(knob.restore, Restore::WriteBack, "{id}: a file is written back");
                }
                Site::Hold(_) | Site::NoFile | Site::Socket(_) => {
                    assert_eq!(knob.restore, Restore::Automatic, "{id}: ends by itself");
                }
                Site::Removed { .. } => assert_eq!(knob.restore, Restore::Nothing, "{id}"),
                Site::Boot(_) => assert_eq!(knob.restore, Restore::Reboot, "{id}"),
                Site::Command { .. } | Site::Call(_) => {}
            }
        }
    }
}
