//! What this machine is.

use ringshot_host::journal;
use ringshot_host::knob::{ALL, At};
use ringshot_host::root::Root;
use ringshot_host::sandbox::{Right, Sandbox};

use super::Finding;

/// Kernel, processor, memory.
#[must_use]
pub fn findings(root: &Root) -> Vec<Finding> {
    vec![kernel(root), processor(root), memory(root), guards(root)]
}

fn kernel(root: &Root) -> Finding {
    let release = Root::read(&root.sysctl("kernel/osrelease")).unwrap_or_else(|| "unknown".to_owned());
    Finding::fine("kernel", format!("Linux {release}"))
}

fn processor(root: &Root) -> Finding {
    let cpuinfo = Root::read(&root.proc.join("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown processor".to_owned());
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let allowed = rustix::thread::sched_getaffinity(None).map(|set| set.count()).unwrap_or(0);
    let kind = if (At { root, device: "lo" }).is_virtual() { "virtual machine" } else { "no hypervisor seen" };
    let text = format!("{model}, {count} CPUs, {allowed} of them for us, {kind}");
    match count {
        0 | 1 => {
            Finding::mind("processor", text, "server and load tool will share the one CPU: only ratios mean anything")
        }
        _ => Finding::fine("processor", text),
    }
}

fn memory(root: &Root) -> Finding {
    let meminfo = Root::read(&root.proc.join("meminfo")).unwrap_or_default();
    let mib = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kib.map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string())
    };
    Finding::fine("memory", format!("{} MiB, {} MiB available", mib("MemTotal:"), mib("MemAvailable:")))
}

/// Guards against CPU vulnerabilities make system calls dearer: figures of two machines differ by them.
fn guards(root: &Root) -> Finding {
    let directory = root.sys.join("devices/system/cpu/vulnerabilities");
    let Ok(listing) = std::fs::read_dir(directory) else { return Finding::fine("mitigations", "unknown") };
    let states: Vec<String> = listing.filter_map(Result::ok).filter_map(|entry| Root::read(&entry.path())).collect();
    let count = |start: &str| states.iter().filter(|state| state.starts_with(start)).count();
    let (active, open) = (count("Mitigation"), count("Vulnerable"));
    Finding::fine("mitigations", format!("{active} active, {open} open, {} not affected", count("Not affected")))
}

/// The registry's view, what an earlier run left, and whether a sandbox can be had. Enters one: there is no way back.
#[must_use]
pub fn settings(root: &Root) -> Vec<Finding> {
    vec![registry(root), leftovers(root), sandbox()]
}

fn registry(root: &Root) -> Finding {
    let at = At { root, device: "lo" };
    let count = |word: &str| ALL.iter().filter(|knob| knob.fit(&at).word() == word).count();
    let text = format!(
        "{} can matter on loopback, {} cannot, {} can't be set (knobs list)",
        count("applies"),
        count("no effect"),
        count("skipped")
    );
    Finding::fine("knobs", text)
}

fn leftovers(root: &Root) -> Finding {
    match journal::restore(&journal::default_directory(), root, true) {
        Ok(report) if report.is_empty() => Finding::fine("journal", "nothing left by an earlier run"),
        Ok(report) => {
            let paths: Vec<_> = report.iter().map(ToString::to_string).collect();
            Finding::bad(
                "journal",
                format!("left by an earlier run: {}", paths.join("; ")),
                "`ringshot-lab knobs restore`",
            )
        }
        Err(error) => Finding::mind("journal", error.to_string(), "don't measure meanwhile"),
    }
}

fn sandbox() -> Finding {
    match Sandbox::enter() {
        Ok(sandbox) => {
            let right = match sandbox.right() {
                Right::Root => "as root",
                Right::UserNamespace => "in a user namespace (RPS and the host's own knobs need root)",
            };
            let differing = match sandbox.differences().len() {
                0 => "all of the host's values copied".to_owned(),
                count => format!("{count} of the host's values can't be copied (knobs apply names them)"),
            };
            Finding::fine("sandbox", format!("to be had {right}; {differing}"))
        }
        Err(error) => Finding::mind("sandbox", error.to_string(), "knobs can then be tried only with --host, as root"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;

    #[test]
    fn the_machine_is_described_from_its_files() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let put = |file: &str, text: &str| {
            let path = directory.path().join(file);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
        };
        let root = Root::under(directory.path());
        put("proc/sys/kernel/osrelease", "6.18.0-test\n");
        put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t: fpu hypervisor\n");
        put("proc/meminfo", "MemTotal:       2048000 kB\nMemAvailable:   1024000 kB\n");
        put("sys/devices/system/cpu/vulnerabilities/a", "Mitigation: x\n");
        put("sys/devices/system/cpu/vulnerabilities/b", "Not affected\n");
        let text: Vec<_> = findings(&root).into_iter().map(|finding| finding.text).collect();
        let text = text.join("\n");
        for part in
            ["Linux 6.18.0-test", "Test CPU, 1 CPUs", "virtual machine", "2000 MiB, 1000", "1 active, 0 open, 1 not"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(processor(&root).grade, Grade::Mind, "one CPU");
    }
}
