use std::io::Read as _;
use std::process::{Command, Stdio};

use super::*;
use crate::testing::FakeRoot;

const SACK: &str = "proc/sys/net/ipv4/tcp_sack";
const POLL: &str = "proc/sys/net/core/busy_poll";
const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

fn machine(name: &str) -> (FakeRoot, PathBuf) {
    let fake = FakeRoot::new(name);
    fake.put(SACK, "1\n");
    fake.put(POLL, "0\n");
    fake.put(GOVERNOR, "powersave\n");
    let directory = fake.path("state");
    (fake, directory)
}

fn log_text(directory: &Path) -> String {
    std::fs::read_to_string(directory.join(LOG_NAME)).expect("the journal")
}

#[test]
fn the_old_value_is_on_disk_before_and_back_after() {
    let (fake, directory) = machine("journal");
    let mut journal = Journal::open(&directory, &fake.root).expect("open");
    assert_eq!(journal.set("a", &fake.path(SACK), "0").expect("set"), "0");
    journal.set("a", &fake.path(SACK), "2").expect("set twice");
    journal.set("b", &fake.path(GOVERNOR), "performance").expect("set");
    assert_eq!((fake.get(SACK), fake.get(GOVERNOR)), ("2".into(), "performance".into()));
    assert_eq!(log_text(&directory).lines().count(), 3);
    drop(journal);
    assert_eq!((fake.get(SACK), fake.get(GOVERNOR)), ("1".into(), "powersave".into()));
    assert_eq!(log_text(&directory), "", "nothing left to do");
}

#[test]
fn what_cannot_be_journalled_is_not_written() {
    let (fake, directory) = machine("outside");
    fake.put("etc/passwd", "root\n");
    let mut journal = Journal::open(&directory, &fake.root).expect("open");
    for path in ["etc/passwd", "proc/sys/../../etc/passwd", "dev/null"] {
        let error = journal.set("x", &fake.path(path), "0").expect_err(path);
        assert!(matches!(error, JournalError::Outside { .. }), "{path}: {error}");
    }
    let error = journal.set("x", &fake.path("proc/sys/absent"), "0").expect_err("no such file");
    assert!(matches!(error, JournalError::Refused { .. }), "{error}");
    assert_eq!(fake.get("etc/passwd"), "root");
    assert_eq!(log_text(&directory), "");
}

#[test]
fn two_runs_cannot_interleave() {
    let (fake, directory) = machine("lock");
    let first = Journal::open(&directory, &fake.root).expect("open");
    for attempt in [Journal::open(&directory, &fake.root).err(), restore(&directory, &fake.root, false).err()] {
        let error = attempt.expect("the lock is held");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    }
    drop(first);
    Journal::open(&directory, &fake.root).expect("free again");
}

#[test]
fn kept_values_stay_until_restore() {
    let (fake, directory) = machine("keep");
    let mut journal = Journal::open(&directory, &fake.root).expect("open");
    journal.set("a", &fake.path(SACK), "0").expect("set");
    journal.keep().expect("keep");
    let mut second = Journal::open(&directory, &fake.root).expect("open");
    assert!(second.recovered().is_empty(), "kept is not crashed");
    second.set("a", &fake.path(SACK), "2").expect("set");
    second.undo();
    drop(second);
    assert_eq!(fake.get(SACK), "0", "the kept value is back");
    let would = restore(&directory, &fake.root, true).expect("dry run");
    assert_eq!(would.iter().map(|undone| &undone.outcome).collect::<Vec<_>>(), [&Outcome::Would]);
    assert_eq!(fake.get(SACK), "0", "a dry run changes nothing");
    let done = restore(&directory, &fake.root, false).expect("restore");
    assert_eq!(done.iter().map(|undone| &undone.outcome).collect::<Vec<_>>(), [&Outcome::WrittenBack]);
    assert_eq!(fake.get(SACK), "1");
    assert!(restore(&directory, &fake.root, false).expect("again").is_empty());
}

/// Leaves a journal as a crash would: the lines are there, nothing is undone.
fn crash(fake: &FakeRoot, directory: &Path) {
    let mut journal = Journal::open(directory, &fake.root).expect("open");
    journal.set("a", &fake.path(SACK), "0").expect("set");
    journal.set("b", &fake.path(GOVERNOR), "performance").expect("set");
    journal.entries.clear();
}

#[test]
fn the_next_run_undoes_what_a_crash_left() {
    let (fake, directory) = machine("crash");
    crash(&fake, &directory);
    assert_eq!(fake.get(SACK), "0");
    let journal = Journal::open(&directory, &fake.root).expect("open");
    assert_eq!(journal.recovered().len(), 2);
    assert_eq!((fake.get(SACK), fake.get(GOVERNOR)), ("1".into(), "powersave".into()));
}

#[test]
fn each_leftover_is_judged() {
    let put = |file: &'static str, text: &'static str| move |fake: &FakeRoot| fake.put(file, text);
    #[expect(clippy::type_complexity, reason = "a table of what happens between crash and restore")]
    let cases: Vec<(&str, Box<dyn Fn(&FakeRoot)>, [&str; 2], &str)> = vec![
        ("plain", Box::new(|_| {}), ["WrittenBack", "WrittenBack"], "1"),
        ("back already", Box::new(put(SACK, "1\n")), ["WrittenBack", "AlreadyBack"], "1"),
        ("changed by others", Box::new(put(SACK, "7\n")), ["WrittenBack", "WrittenBack"], "1"),
        ("rebooted", Box::new(put("proc/sys/kernel/random/boot_id", "boot-2\n")), ["Rebooted", "Rebooted"], "0"),
        ("elsewhere", Box::new(link_namespace), ["WrittenBack", "OtherNamespace"], "0"),
        (
            "gone",
            Box::new(|fake| std::fs::remove_file(fake.path(GOVERNOR)).expect("rm")),
            ["Failed", "WrittenBack"],
            "1",
        ),
    ];
    for (name, between, outcomes, sack) in cases {
        let (fake, directory) = machine("judged");
        crash(&fake, &directory);
        between(&fake);
        let report = restore(&directory, &fake.root, false).expect(name);
        let words: Vec<_> = report.iter().map(|undone| format!("{:?}", undone.outcome)).collect();
        assert_eq!(words.len(), 2, "{name}");
        for (word, expected) in words.iter().zip(outcomes) {
            assert!(word.starts_with(expected), "{name}: {words:?}");
        }
        assert_eq!(fake.get(SACK), sack, "{name}");
        let settled = report.iter().all(|undone| undone.outcome.is_settled());
        assert_eq!(log_text(&directory).is_empty(), settled, "{name}: what isn't settled stays written down");
    }
}

fn link_namespace(fake: &FakeRoot) {
    std::fs::create_dir_all(fake.path("proc/thread-self/ns")).expect("directories");
    std::os::unix::fs::symlink("net:[7]", fake.path("proc/thread-self/ns/net")).expect("link");
}

#[test]
fn a_torn_tail_is_dropped_and_a_damaged_middle_refused() {
    let (fake, directory) = machine("torn");
    crash(&fake, &directory);
    let whole = log_text(&directory);
    for cut in 0..whole.len() {
        fake.put(SACK, "0\n");
        fake.put(GOVERNOR, "performance\n");
        std::fs::write(directory.join(LOG_NAME), &whole[..cut]).expect("write");
        let expected = whole[..cut].matches('\n').count();
        assert_eq!(restore(&directory, &fake.root, false).expect("readable").len(), expected, "cut at {cut}");
    }
    std::fs::write(directory.join(LOG_NAME), format!("nonsense\n{whole}")).expect("write");
    let error = restore(&directory, &fake.root, false).expect_err("damaged");
    assert!(matches!(error, JournalError::Damaged { line: 1, .. }), "{error}");
}

#[test]
fn a_journal_that_names_other_files_is_not_followed() {
    let (fake, directory) = machine("planted");
    fake.put("etc/passwd", "root\n");
    crash(&fake, &directory);
    let planted = log_text(&directory).replace(SACK, "etc/passwd");
    std::fs::write(directory.join(LOG_NAME), planted).expect("write");
    let report = restore(&directory, &fake.root, false).expect("readable");
    assert!(report.iter().any(|undone| matches!(undone.outcome, Outcome::Failed(_))), "{report:?}");
    assert_eq!(fake.get("etc/passwd"), "root");
}

const CHILD_ROOT: &str = "RINGSHOT_TEST_JOURNAL_ROOT";

/// The child of the test below: changes settings for ever. Without its variable it has nothing to do.
#[test]
fn child_that_changes_settings_until_killed() {
    let Some(directory) = std::env::var_os(CHILD_ROOT).map(PathBuf::from) else { return };
    let root = Root::under(&directory);
    println!("ready");
    for round in 0_u32.. {
        let mut journal = Journal::open(&directory.join("state"), &root).expect("open");
        journal.set("a", &directory.join(SACK), &round.to_string()).expect("set");
        journal.set("b", &directory.join(POLL), "50").expect("set");
        journal.set("a", &directory.join(SACK), "0").expect("set");
        journal.set("c", &directory.join(GOVERNOR), "performance").expect("set");
    }
}

/// Kills a child with SIGKILL at twelve different moments; after each, restore brings every value back.
#[test]
fn a_run_killed_in_the_middle_is_restored() {
    for round in 0..12_u64 {
        let (fake, directory) = machine("killed");
        let exe = std::env::current_exe().expect("the test binary");
        let mut child = Command::new(exe)
            .args(["--exact", "journal::tests::child_that_changes_settings_until_killed", "--nocapture"])
            .env(CHILD_ROOT, fake.directory())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the child");
        wait_for_ready(&mut child);
        std::thread::sleep(std::time::Duration::from_micros(1100 * round));
        child.kill().expect("SIGKILL");
        child.wait().expect("the child's end");
        restore(&directory, &fake.root, false).expect("restore");
        let values = [fake.get(SACK), fake.get(POLL), fake.get(GOVERNOR)];
        assert_eq!(values, ["1", "0", "powersave"], "round {round}");
        assert_eq!(log_text(&directory), "", "round {round}");
    }
}

fn wait_for_ready(child: &mut std::process::Child) {
    let mut seen = String::new();
    let mut stdout = child.stdout.take().expect("piped");
    let mut byte = [0];
    while !seen.ends_with("ready") {
        assert_eq!(stdout.read(&mut byte).expect("the child's output"), 1, "the child ended early: {seen}");
        seen.push(char::from(byte[0]));
    }
    child.stdout = Some(stdout);
}
