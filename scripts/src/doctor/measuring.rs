//! What makes figures of this machine unreliable, and what to do about each.

use ringshot_host::root::Root;
use ringshot_host::setting::read_value;
use rustix::time::{ClockId, clock_getres};

use super::Finding;
use super::noise::Noise;

/// Steal above this part of the time is more than most effects that one looks for.
const STEAL_MIND: f64 = 0.005;
/// Block deviation above this needs more slices than anyone has patience for.
const DEVIATION_MIND: f64 = 0.02;
/// Waiting for a CPU above this part of the time: others work here.
const WAITING_MIND: f64 = 0.02;
/// Pressure (percent of ten seconds) above which a resource is short.
const PRESSURE_MIND: f64 = 5.0;

/// Everything that is looked at, in the order in which it usually hurts.
#[must_use]
pub fn findings(root: &Root, noise: &Noise) -> Vec<Finding> {
    vec![
        floor(noise),
        steal(noise),
        company(root, noise),
        pressure(root),
        governor(root),
        siblings(root),
        clock(root),
        taps(root),
        conntrack(root),
        pacing(root),
        pages(root),
    ]
}

fn floor(noise: &Noise) -> Finding {
    let Some(deviation) = noise.block_deviation else {
        return Finding::mind("noise floor", "too few slices to say", "`ringshot-lab doctor --seconds 10`");
    };
    let text = format!(
        "fixed work varies by {:.1} % between blocks of 200 ms (slices: p90 {:.2}, longest {:.1} times the median)",
        100.0 * deviation,
        noise.p90,
        noise.max
    );
    let blocks = noise.blocks_to_tell(0.01).unwrap_or(u64::MAX);
    let cost = format!("to tell 1 % from nothing, an arm needs about {blocks} slices of 200 ms ({} s)", blocks / 5 + 1);
    match deviation > DEVIATION_MIND {
        true => Finding::mind("noise floor", text, cost + "; interleave the arms, and keep a placebo"),
        false => Finding::fine("noise floor", format!("{text}; {cost}")),
    }
}

fn steal(noise: &Noise) -> Finding {
    let text = format!("{:.1} % of the CPUs' time went to the hypervisor meanwhile", 100.0 * noise.steal);
    match noise.steal > STEAL_MIND {
        true => {
            Finding::mind("steal", text, "measure when the host is quiet; trust CPU per request more than requests/s")
        }
        false => Finding::fine("steal", text),
    }
}

/// Others that want the CPU: seen by waiting for it, and by the runnable count of proc_loadavg(5).
fn company(root: &Root, noise: &Noise) -> Finding {
    let loadavg = Root::read(&root.proc.join("loadavg")).unwrap_or_default();
    let load = loadavg.split_whitespace().next().unwrap_or("?");
    let text = format!("the loop waited {:.1} % of its time for a CPU; load average {load}", 100.0 * noise.waiting);
    match noise.waiting > WAITING_MIND {
        true => {
            Finding::mind("company", text, "end or pin other programs (`top`), or keep to CPUs of their own (taskset)")
        }
        false => Finding::fine("company", text),
    }
}

/// Pressure stall information: the part of the last ten seconds in which some task waited for the resource.
fn pressure(root: &Root) -> Finding {
    let some = |resource: &str| {
        let text = Root::read(&root.proc.join("pressure").join(resource))?;
        let line = text.lines().find(|line| line.starts_with("some"))?.to_owned();
        line.split_whitespace().find_map(|word| word.strip_prefix("avg10=")?.parse::<f64>().ok())
    };
    let values: Vec<(&str, f64)> =
        ["cpu", "memory", "io"].into_iter().filter_map(|name| Some((name, some(name)?))).collect();
    if values.is_empty() {
        return Finding::fine("pressure", "unknown: this kernel doesn't account it (psi=1 on its command line)");
    }
    let text = values.iter().map(|(name, value)| format!("{name} {value:.1} %")).collect::<Vec<_>>().join(", ");
    match values.iter().any(|(_, value)| *value > PRESSURE_MIND) {
        true => Finding::mind("pressure", format!("{text} of the last 10 s"), "wait until the machine is quiet"),
        false => Finding::fine("pressure", format!("{text} of the last 10 s")),
    }
}

fn governor(root: &Root) -> Finding {
    match Root::read(&root.sys.join("devices/system/cpu/cpu0/cpufreq/scaling_governor")).as_deref() {
        None => Finding::fine("clock rate", "no cpufreq: the hypervisor or the firmware decides, and can't be asked"),
        Some("performance") => Finding::fine("clock rate", "governor performance"),
        Some(name) => Finding::mind(
            "clock rate",
            format!("governor {name}: the clock follows the load"),
            "`ringshot-lab knobs apply --host cpu.governor=performance -- COMMAND`",
        ),
    }
}

fn siblings(root: &Root) -> Finding {
    match Root::read(&root.sys.join("devices/system/cpu/smt/active")).as_deref() {
        Some("1") => Finding::mind(
            "SMT",
            "two threads share each core: placing moves figures by tens of percent",
            "pin both programs, and say which siblings they use",
        ),
        _ => Finding::fine("SMT", "each CPU is a core, as far as the kernel knows"),
    }
}

/// The coarse clock moves once a tick, so its resolution tells HZ without the kernel's configuration.
fn clock(root: &Root) -> Finding {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let hz = if tick.tv_sec == 0 && tick.tv_nsec > 0 { 1_000_000_000 / tick.tv_nsec } else { 0 };
    let source = Root::read(&root.sys.join("devices/system/clocksource/clocksource0/current_clocksource"));
    match source.as_deref() {
        Some(name @ ("tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page")) => {
            Finding::fine("clock", format!("{name} (read without a system call), {hz} ticks a second"))
        }
        Some(name) => Finding::mind(
            "clock",
            format!("{name}, {hz} ticks a second: every reading is a system call"),
            "boot with a working TSC (clocksource=tsc), else each time stamp costs about a microsecond",
        ),
        None => Finding::fine("clock", format!("unknown source, {hz} ticks a second")),
    }
}

fn taps(root: &Root) -> Finding {
    let sockets = Root::read(&root.proc.join("net/packet")).unwrap_or_default();
    match sockets.lines().skip(1).count() {
        0 => Finding::fine("packet taps", "none"),
        count => Finding::mind(
            "packet taps",
            format!("{count} programs listen to packets: each packet may be copied for them"),
            "stop tcpdump and the like; a DHCP client can be stopped while measuring; a sandbox has none",
        ),
    }
}

fn conntrack(root: &Root) -> Finding {
    match Root::read(&root.sysctl("net/netfilter/nf_conntrack_count")).as_deref() {
        None | Some("0") => Finding::fine("conntrack", "no connection is tracked"),
        Some(count) => Finding::mind(
            "conntrack",
            format!("{count} connections are tracked: a cost on every packet"),
            "exempt loopback (`nft add rule inet raw prerouting iif lo notrack`), or measure in a sandbox",
        ),
    }
}

/// bbr asks for paced sending; without the fq qdisc, which loopback never has, TCP arms timers of its own for it.
fn pacing(root: &Root) -> Finding {
    let name = Root::read(&root.sysctl("net/ipv4/tcp_congestion_control")).unwrap_or_else(|| "unknown".to_owned());
    match name.as_str() {
        "bbr" => Finding::mind(
            "congestion",
            "bbr: on loopback TCP paces itself with timers, some percent of CPU a request",
            "compare with `ringshot-lab knobs apply ipv4.tcp_congestion_control=reno -- COMMAND`",
        ),
        name => Finding::fine("congestion", name),
    }
}

fn pages(root: &Root) -> Finding {
    let chosen = read_value(&root.sys.join("kernel/mm/transparent_hugepage/enabled"));
    match chosen.as_deref() {
        Ok("always") => Finding::mind(
            "huge pages",
            "always: the kernel may stop a program to put pages together",
            "`ringshot-lab knobs apply --host vm.transparent_hugepage=madvise -- COMMAND`",
        ),
        Ok(name) => Finding::fine("huge pages", name),
        Err(_) => Finding::fine("huge pages", "none in this kernel"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;

    type Check = fn(&Root) -> Finding;

    #[rustfmt::skip]
    const CASES: &[(Check, &str, &str, Grade, &str)] = &[
        (governor, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n", Grade::Mind, "schedutil"),
        (governor, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n", Grade::Fine, "performance"),
        (governor, "sys/other", "", Grade::Fine, "no cpufreq"),
        (siblings, "sys/devices/system/cpu/smt/active", "1\n", Grade::Mind, "share each core"),
        (siblings, "sys/devices/system/cpu/smt/active", "0\n", Grade::Fine, "core"),
        (clock, "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", Grade::Fine, "tsc"),
        (clock, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", Grade::Mind, "system call"),
        (taps, "proc/net/packet", "sk RefCnt\n", Grade::Fine, "none"),
        (taps, "proc/net/packet", "sk RefCnt\nffff 3\nfffe 3\n", Grade::Mind, "2 programs"),
        (conntrack, "proc/sys/net/netfilter/nf_conntrack_count", "0\n", Grade::Fine, "no connection"),
        (conntrack, "proc/sys/net/netfilter/nf_conntrack_count", "9\n", Grade::Mind, "9 connections"),
        (conntrack, "proc/other", "", Grade::Fine, "no connection"),
        (pacing, "proc/sys/net/ipv4/tcp_congestion_control", "bbr\n", Grade::Mind, "timers"),
        (pacing, "proc/sys/net/ipv4/tcp_congestion_control", "cubic\n", Grade::Fine, "cubic"),
        (pages, "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n", Grade::Mind, "always"),
        (pages, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", Grade::Fine, "madvise"),
        (pressure, "proc/pressure/cpu", "some avg10=40.00 avg60=1.00 avg300=0.00 total=1\n", Grade::Mind, "cpu 40.0 %"),
        (pressure, "proc/pressure/cpu", "some avg10=0.40 avg60=1.00 avg300=0.00 total=1\n", Grade::Fine, "cpu 0.4 %"),
        (pressure, "proc/other", "", Grade::Fine, "unknown"),
    ];

    #[test]
    fn each_trouble_is_seen_and_comes_with_advice() {
        for (check, file, text, grade, words) in CASES {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let path = directory.path().join(file);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directories");
            std::fs::write(path, text).expect("a file");
            let finding = check(&Root::under(directory.path()));
            assert_eq!(finding.grade, *grade, "{file} {text:?}: {finding:?}");
            assert!(finding.text.contains(words), "{file} {text:?}: {finding:?}");
            assert_eq!(finding.advice.is_empty(), *grade == Grade::Fine, "{finding:?}");
        }
    }

    #[test]
    fn noise_steal_and_company_are_graded() {
        let quiet = Noise {
            slices: 3000,
            median_ns: 1_000_000,
            p90: 1.01,
            max: 1.5,
            block_deviation: Some(0.004),
            waiting: 0.001,
            steal: 0.0,
        };
        let root = Root::host();
        assert!([floor(&quiet), steal(&quiet), company(&root, &quiet)].iter().all(|found| found.grade == Grade::Fine));
        let loud = Noise { block_deviation: Some(0.06), waiting: 0.2, steal: 0.03, ..quiet.clone() };
        assert!([floor(&loud), steal(&loud), company(&root, &loud)].iter().all(|found| found.grade == Grade::Mind));
        let short = Noise { block_deviation: None, ..quiet };
        assert!(floor(&short).advice.contains("--seconds"));
    }
}
