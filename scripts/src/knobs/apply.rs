//! Setting knobs for the time of one command.

use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringshot_host::journal::Journal;
use ringshot_host::knob::change::Changes;
use ringshot_host::knob::{At, Knob, Proof};
use ringshot_host::root::Root;
use ringshot_host::sandbox::Sandbox;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{ApplyArgs, KnobsError, journal_directory, known};

/// How long a command has to end after it was asked to; then it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often its end and the stop flag are looked at.
const LOOK: Duration = Duration::from_millis(20);

type Setting = (&'static Knob, String);

pub(super) fn apply(root: &Root, args: &ApplyArgs, out: &mut dyn Write) -> Result<u8, KnobsError> {
    let settings = args.settings.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    if !args.host {
        let beyond = settings.iter().find(|(knob, _)| !knob.scope.is_contained() && knob.site.is_writable());
        if let Some((knob, _)) = beyond {
            return Err(KnobsError::WholeMachine { id: knob.id });
        }
    }
    let at = At { root, device: &args.device };
    if args.dry_run {
        return dry_run(&at, &settings, args.host, out);
    }
    // Before anything is changed: from here on a signal ends the command, and the changes are undone on the way out.
    let stop = on_signals().map_err(|error| KnobsError::Io { what: "handling signals".to_owned(), error })?;
    // The sandbox is dropped after the changes: it clears what they may have left.
    let _sandbox = if args.host { None } else { Some(enter()?) };
    let mut changes = Changes::new(if args.host { open_journal(root, args)? } else { Journal::in_memory(root) });
    for setting in &settings {
        set_and_prove(&mut changes, &at, setting)?;
    }
    if args.keep {
        changes.keep()?;
        note("left as set; `ringshot-lab knobs restore` undoes it");
        return Ok(0);
    }
    let code = match args.command.split_first() {
        Some((program, rest)) => run(program, rest, &stop)?,
        None => 0,
    };
    let undone = changes.undo();
    let left: Vec<_> = undone.iter().filter(|undone| !undone.outcome.is_settled()).collect();
    left.iter().for_each(|undone| note(&undone.to_string()));
    if left.is_empty() { Ok(code) } else { Err(KnobsError::NotRestored(left.len())) }
}

/// Accompanies a command whose output is its own, so it goes to stderr; a reader that has gone is no fault.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "ringshot-lab: {text}");
}

fn parse(text: &str) -> Result<Setting, KnobsError> {
    let (id, value) = text.split_once('=').ok_or_else(|| KnobsError::Syntax(text.to_owned()))?;
    Ok((known(id)?, value.to_owned()))
}

fn dry_run(at: &At<'_>, settings: &[Setting], host: bool, out: &mut dyn Write) -> Result<u8, KnobsError> {
    let print = |error| KnobsError::Io { what: "printing".to_owned(), error };
    let whose = if host { "on this machine" } else { "in a sandbox that starts from this machine's values" };
    writeln!(out, "would set {whose}:").map_err(print)?;
    for (knob, value) in settings {
        let steps = knob.plan(at, value).map_err(|error| KnobsError::NotSet { id: knob.id, error })?;
        for step in steps {
            writeln!(out, "  {}: {} -> {}", step.place, step.old, step.new).map_err(print)?;
        }
        writeln!(out, "  proof: {}", knob.effect).map_err(print)?;
    }
    Ok(0)
}

fn enter() -> Result<Sandbox, KnobsError> {
    let sandbox = Sandbox::enter()?;
    for difference in sandbox.differences() {
        let path = difference.path.display();
        note(&format!(
            "{path} is {} inside and {} on the host: {}",
            difference.inside, difference.host, difference.reason
        ));
    }
    sandbox.notes().iter().for_each(|text| note(text));
    Ok(sandbox)
}

fn open_journal(root: &Root, args: &ApplyArgs) -> Result<Journal, KnobsError> {
    let journal = Journal::open(&journal_directory(args.journal.as_ref()), root)?;
    for undone in journal.recovered() {
        note(&format!("a run that ended early had left this: {undone}"));
    }
    Ok(journal)
}

fn set_and_prove(changes: &mut Changes, at: &At<'_>, (knob, value): &Setting) -> Result<(), KnobsError> {
    let not_set = |error| KnobsError::NotSet { id: knob.id, error };
    for step in changes.set(knob, at, value).map_err(not_set)? {
        note(&format!("{}: {} -> {}", step.place, step.old, step.new));
    }
    let asked = knob.effect.check(at, value);
    let proof = asked.map_err(|error| KnobsError::Io { what: format!("proving {}", knob.id), error })?;
    note(&format!("{}: {proof}", knob.id));
    match proof {
        Proof::Missing(seen) => Err(KnobsError::NoEffect { id: knob.id, seen }),
        _ => Ok(()),
    }
}

fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Runs it to its end and returns its exit code, or 128 and the signal's number as a shell would.
fn run(program: &str, arguments: &[String], stop: &AtomicBool) -> Result<u8, KnobsError> {
    let failed = |error| KnobsError::Io { what: format!("running {program}"), error };
    let mut child = Command::new(program).args(arguments).spawn().map_err(failed)?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(code_of(status));
        }
        if stop.load(Ordering::Acquire) {
            return end(&mut child).map(code_of).map_err(failed);
        }
        std::thread::sleep(LOOK);
    }
}

fn end(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself; it is ours to wait for, so the number can't be another process's.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
