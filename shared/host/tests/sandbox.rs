//! The sandbox on the real kernel, in namespaces that the test makes itself.
//!
//! It has its own `main` because a sandbox is entered before threads are started, and the usual harness starts some. The
//! parent takes stock of the host, runs itself as a child in each role, and takes stock again: nothing may have changed.

#![allow(clippy::print_stdout)] // Its own main reports what ran and what was skipped.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ringshot_host::journal::Journal;
use ringshot_host::knob::change::Changes;
use ringshot_host::knob::{At, Proof, find};
use ringshot_host::root::Root;
use ringshot_host::sandbox::{Right, Sandbox, SandboxError};

/// A child that could not get a sandbox ends with this, as the reason is the machine's and not ours.
const SKIPPED: u8 = 77;
const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("inside") => inside(),
        Some("nested") => nested(),
        _ => parent(),
    }
}

fn parent() -> ExitCode {
    let before = stock();
    let own = rustix::process::geteuid().is_root();
    let mut roles = vec![("inside", None), ("nested", None)];
    if own {
        roles.push(("inside", Some(NOBODY)));
    }
    for (role, user) in roles {
        let name = format!("{role} as {}", user.map_or_else(|| "the caller".to_owned(), |uid| format!("user {uid}")));
        match run(role, user) {
            Ok(code) if code == i32::from(SKIPPED) => println!("sandbox {name}: skipped (see above)"),
            Ok(0) => println!("sandbox {name}: ok"),
            other => panic!("sandbox {name}: {other:?}"),
        }
        assert_eq!(stock(), before, "{name}: the host has changed");
    }
    ExitCode::SUCCESS
}

fn run(role: &str, user: Option<u32>) -> std::io::Result<i32> {
    let mut exe = std::env::current_exe()?;
    let copied = std::env::temp_dir().join(format!("ringshot-sandbox-{}", std::process::id()));
    if user.is_some() {
        // The build directory may be closed to others.
        std::fs::copy(&exe, &copied)?;
        exe = copied.clone();
    }
    let mut command = Command::new(exe);
    command.arg(role).current_dir("/");
    if let Some(uid) = user {
        command.uid(uid).gid(uid);
    }
    let status = command.status();
    let _ = std::fs::remove_file(copied);
    Ok(status?.code().unwrap_or(-1))
}

/// Settings, devices and mounts of the caller's namespaces.
fn stock() -> (BTreeMap<PathBuf, String>, Vec<String>, String) {
    let mut settings = BTreeMap::new();
    for directory in ["ipv4", "core", "unix"] {
        for entry in std::fs::read_dir(format!("/proc/sys/net/{directory}")).into_iter().flatten().flatten() {
            if let Some(value) = Root::read(&entry.path()) {
                settings.insert(entry.path(), value);
            }
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    (settings, devices(), mounts)
}

fn devices() -> Vec<String> {
    let listing = std::fs::read_dir("/sys/class/net").expect("/sys/class/net");
    listing
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().display().to_string())
        .collect()
}

fn enter() -> Result<Sandbox, ExitCode> {
    match Sandbox::enter() {
        Ok(sandbox) => Ok(sandbox),
        Err(error @ SandboxError::Privilege { .. }) => {
            println!("{error}");
            Err(ExitCode::from(SKIPPED))
        }
        Err(error) => panic!("{error}"),
    }
}

fn inside() -> ExitCode {
    let was_root = rustix::process::geteuid().is_root();
    let sandbox = match enter() {
        Ok(sandbox) => sandbox,
        Err(code) => return code,
    };
    println!("by {:?}, {} differences, notes {:?}", sandbox.right(), sandbox.differences().len(), sandbox.notes());
    for difference in sandbox.differences() {
        println!("  {difference:?}");
    }
    assert!(!was_root || sandbox.right() == Right::Root);
    assert_eq!(devices(), ["lo"], "only loopback is inside");
    assert!(Path::new("/sys/fs/cgroup").exists());
    exchange();
    let root = Root::host();
    let at = At { root: &root, device: "lo" };
    for (id, values) in [
        ("ipv4.tcp_timestamps", &["0", "1"][..]),
        ("ipv4.tcp_sack", &["0", "1"]),
        ("ipv4.tcp_congestion_control", &["reno"]),
        ("ipv4.tcp_rmem", &["4096 65536 6291456"]),
        ("ipv4.tcp_wmem", &["4096 65536 4194304"]),
        ("ipv4.ip_local_port_range", &["20000 20999"]),
        ("dev.mtu", &["1500"]),
    ] {
        values.iter().for_each(|value| set_and_prove(&at, id, value));
    }
    steering_is_cleared(&at, sandbox);
    ExitCode::SUCCESS
}

/// Bytes go both ways over the new loopback.
fn exchange() {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("bind");
    let mut near = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    let (mut far, _) = listener.accept().expect("accept");
    let mut bytes = [0; 4];
    near.write_all(b"ping").expect("write");
    far.read_exact(&mut bytes).expect("read");
    far.write_all(&bytes).expect("write back");
    near.read_exact(&mut bytes).expect("read back");
    assert_eq!(&bytes, b"ping");
}

fn set_and_prove(at: &At<'_>, id: &str, value: &str) {
    let knob = find(id).expect(id);
    let before = knob.current(at).expect(id);
    let mut changes = Changes::new(Journal::in_memory(at.root));
    changes.set(knob, at, value).unwrap_or_else(|error| panic!("{id}={value}: {error}"));
    let proof = knob.effect.check(at, value).expect("loopback");
    assert!(matches!(proof, Proof::Seen(_)), "{id}={value}: {proof}");
    println!("{id}={value}: {proof}");
    assert!(changes.undo().iter().all(|undone| undone.outcome.is_settled()), "{id}");
    assert_eq!(knob.current(at).as_deref(), Some(before.as_str()), "{id} is back");
}

/// Set behind the journal's back, as a program inside could do.
fn steering_is_cleared(at: &At<'_>, sandbox: Sandbox) {
    let mask = at.root.device("lo").join("queues/rx-0/rps_cpus");
    if let Err(error) = std::fs::write(&mask, "1\n") {
        println!("rps_cpus: skipped: {error}");
        return;
    }
    assert_ne!(Root::read(&mask).as_deref(), Some("0"));
    drop(sandbox);
    let digits = Root::read(&mask).expect("mask").replace(',', "");
    assert!(digits.chars().all(|digit| digit == '0'), "cleared: {digits}");
}

/// The outer sandbox plays the host: what is unusual there must be found inside the inner one.
fn nested() -> ExitCode {
    let outer = match enter() {
        Ok(sandbox) => sandbox,
        Err(code) => return code,
    };
    let root = Root::host();
    let unusual = [("net/ipv4/tcp_fin_timeout", "17"), ("net/core/somaxconn", "777"), ("net/ipv4/tcp_sack", "0")];
    for (name, value) in unusual {
        std::fs::write(root.sysctl(name), value).expect(name);
    }
    std::fs::write(root.device("lo").join("mtu"), "9000").expect("mtu");
    let inner = Sandbox::enter().expect("a sandbox in a sandbox");
    for (name, value) in unusual {
        assert_eq!(Root::read(&root.sysctl(name)).as_deref(), Some(value), "{name} is copied");
    }
    assert_eq!(Root::read(&root.device("lo").join("mtu")).as_deref(), Some("9000"));
    assert_eq!(inner.differences(), [], "all of it is copied");
    drop((inner, outer));
    ExitCode::SUCCESS
}
