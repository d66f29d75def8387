//! `ringshot-lab knobs`: which settings there are, whether they can matter here, and trying one without leaving a trace.

pub mod apply;
pub mod list;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ringshot_host::journal::{self, JournalError};
use ringshot_host::knob::change::ChangeError;
use ringshot_host::knob::{ALL, Knob, find};
use ringshot_host::root::Root;
use ringshot_host::sandbox::SandboxError;

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum KnobsCommand {
    /// All settings that are known: can they matter here, what they are now, and if not, why not
    List(ListArgs),
    /// All that is known about one setting: claims, sources, values, proof, risk
    Show(ShowArgs),
    /// Set, prove, run a command, and undo; in a sandbox unless --host is given
    Apply(ApplyArgs),
    /// Undo what an earlier run left: a crash, or --keep
    Restore(RestoreArgs),
}

/// Options of `knobs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The device that carries the traffic
    #[arg(long, value_name = "NAME", default_value = "lo")]
    device: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Options of `knobs show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Which, as `knobs list` names it
    id: String,
    /// The device that carries the traffic
    #[arg(long, value_name = "NAME", default_value = "lo")]
    device: String,
}

/// Options of `knobs apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// What to set, in this order
    #[arg(required = true, value_name = "ID=VALUE")]
    settings: Vec<String>,
    /// The device whose settings are meant
    #[arg(long, value_name = "NAME", default_value = "lo")]
    device: String,
    /// Set it on this machine itself instead of in a sandbox; undone at the end
    #[arg(long)]
    host: bool,
    /// Leave the values at the end, until `knobs restore`
    #[arg(long, requires = "host", conflicts_with = "command")]
    keep: bool,
    /// Only say what would be written
    #[arg(long)]
    dry_run: bool,
    /// Where changes of this machine are written down [default: /var/lib/ringshot, or ~/.local/state/ringshot]
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// What to run meanwhile; without it the settings are only proved
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Options of `knobs restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Only say what would be written
    #[arg(long)]
    dry_run: bool,
    /// Where changes of this machine are written down [default: /var/lib/ringshot, or ~/.local/state/ringshot]
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// A table for a person.
    Text,
    /// One array of objects.
    Json,
}

/// Why nothing, or not all, was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnobsError {
    /// No knob of that id.
    #[error("no setting is called {id:?}{}; `ringshot-lab knobs list` names all", similar(id))]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Not ID=VALUE.
    #[error("{0:?} is not ID=VALUE")]
    Syntax(String),
    /// It reaches further than a sandbox.
    #[error("{id} reaches the whole machine and no sandbox holds it; --host sets it here and undoes it at the end")]
    WholeMachine {
        /// The knob.
        id: &'static str,
    },
    /// It could not be set.
    #[error("{id}: {error}; nothing was run, all is undone")]
    NotSet {
        /// The knob.
        id: &'static str,
        /// Why.
        error: ChangeError,
    },
    /// It was set, and nothing came of it.
    #[error("{id} reads as set, but its effect is missing: {seen}; nothing was run, all is undone")]
    NoEffect {
        /// The knob.
        id: &'static str,
        /// What was seen instead.
        seen: String,
    },
    /// Some changes are still there.
    #[error("{0} settings could not be restored (see above)")]
    NotRestored(usize),
    /// No sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// No journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The command could not be started, or loopback not asked.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl KnobsError {
    /// The program's exit code: 2 for wrong usage, 3 when the machine refuses.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unknown { .. } | Self::Syntax(_) | Self::WholeMachine { .. } => 2,
            _ => 3,
        }
    }
}

impl KnobsCommand {
    /// Does it. Results go to `out`, what accompanies a command that runs goes to stderr. Returns the exit code.
    ///
    /// `apply` without `--host` must be called before any thread is started.
    ///
    /// # Errors
    /// When the usage is wrong or the machine refuses; everything that was changed is undone then.
    pub fn run(&self, root: &Root, out: &mut dyn Write) -> Result<u8, KnobsError> {
        let printed = |error| KnobsError::Io { what: "printing".to_owned(), error };
        match self {
            Self::List(args) => list::list(root, &args.device, args.format, out).map_err(printed).map(|()| 0),
            Self::Show(args) => list::show(root, known(&args.id)?, &args.device, out).map_err(printed).map(|()| 0),
            Self::Apply(args) => apply::apply(root, args, out),
            Self::Restore(args) => restore(root, args, out),
        }
    }
}

fn known(id: &str) -> Result<&'static Knob, KnobsError> {
    find(id).ok_or_else(|| KnobsError::Unknown { id: id.to_owned() })
}

/// Write-ups name a setting by its path or its last part.
fn similar(id: &str) -> String {
    let last = id.rsplit(['.', '/']).next().unwrap_or(id);
    let near = |knob: &&&Knob| !last.is_empty() && (knob.id.contains(last) || last.contains(knob.id));
    let names: Vec<_> = ALL.iter().filter(near).take(3).map(|knob| knob.id).collect();
    if names.is_empty() { String::new() } else { format!(" (did you mean {}?)", names.join(" or ")) }
}

fn journal_directory(named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(journal::default_directory)
}

fn restore(root: &Root, args: &RestoreArgs, out: &mut dyn Write) -> Result<u8, KnobsError> {
    let report = journal::restore(&journal_directory(args.journal.as_ref()), root, args.dry_run)?;
    let print = |error| KnobsError::Io { what: "printing".to_owned(), error };
    if report.is_empty() {
        writeln!(out, "nothing to restore").map_err(print)?;
    }
    for undone in &report {
        writeln!(out, "{undone}").map_err(print)?;
    }
    let left = report.iter().filter(|undone| !undone.outcome.is_settled()).count();
    if left > 0 && !args.dry_run { Err(KnobsError::NotRestored(left)) } else { Ok(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_id_gets_suggestions() {
        for (id, words) in [
            ("net.ipv4.tcp_sack", "did you mean ipv4.tcp_sack?"),
            ("/proc/sys/net/core/busy_poll", "core.busy_poll"),
            ("tcp_tw_recycle", "ipv4.tcp_tw_recycle"),
            ("nonsense", "\"nonsense\"; `"),
            ("", "\"\"; `"),
        ] {
            let error = known(id).expect_err(id);
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
