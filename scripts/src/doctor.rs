//! `ringshot-lab doctor`: what this machine is, what its io_uring can do, and what makes measurements here unreliable.

pub mod machine;
pub mod measuring;
pub mod noise;
pub mod rings;

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use ringshot_host::root::Root;

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How long to measure the machine's noise, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// As it should be, or a plain fact.
    Fine,
    /// It costs speed or makes figures less steady; one can live with it.
    Mind,
    /// It stops something from working, or figures from meaning anything.
    Bad,
}

/// One line of the report, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// One or two words.
    pub topic: &'static str,
    /// How much it matters.
    pub grade: Grade,
    /// What is the case.
    pub text: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
}

impl Finding {
    /// As it should be.
    #[must_use]
    pub fn fine(topic: &'static str, text: impl Into<String>) -> Self {
        Self { topic, grade: Grade::Fine, text: text.into(), advice: String::new() }
    }

    /// One can live with it; here is what to do.
    #[must_use]
    pub fn mind(topic: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { topic, grade: Grade::Mind, text: text.into(), advice: advice.into() }
    }

    /// One can't live with it; here is what to do.
    #[must_use]
    pub fn bad(topic: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { topic, grade: Grade::Bad, text: text.into(), advice: advice.into() }
    }
}

/// Examines and prints. The exit code is 0, or 3 when no ring can be had.
///
/// Must be called before any thread is started: whether a sandbox can be had is found out by entering one.
///
/// # Errors
/// When printing fails.
pub fn run(args: &DoctorArgs, root: &Root, out: &mut dyn Write) -> io::Result<u8> {
    let rings = rings::findings(root);
    let code = if rings.iter().any(|finding| finding.grade == Grade::Bad) { 3 } else { 0 };
    let measuring = measuring::findings(root, &noise::measure(root, Duration::from_secs(args.seconds)));
    section("machine", &machine::findings(root), out)?;
    section("io_uring", &rings, out)?;
    section("measuring here", &measuring, out)?;
    // Last, because there is no way back out.
    section("settings", &machine::settings(root), out)?;
    Ok(code)
}

fn section(heading: &str, findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{heading}")?;
    for finding in findings {
        let mark = match finding.grade {
            Grade::Fine => " ",
            Grade::Mind => "!",
            Grade::Bad => "X",
        };
        writeln!(out, " {mark} {:<13} {}", finding.topic, finding.text)?;
        if !finding.advice.is_empty() {
            writeln!(out, "                 -> {}", finding.advice)?;
        }
    }
    Ok(())
}
