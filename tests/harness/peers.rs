//! Other people's programs: `curl`, `ab` and `wrk` as clients, `nginx` as a server.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::failure::Outcome;
use crate::programs::{PATIENCE, Running};
use crate::scratch::Scratch;
use crate::{ensure, fail};

/// A command that runs the named program, or `None` after saying that its test is skipped.
///
/// With `CI=true` in the environment a missing program is a failure: there every peer must be installed.
pub fn peer(name: &str) -> Outcome<Option<Command>> {
    if let Some(path) = find(name) {
        return Ok(Some(Command::new(path)));
    }
    ensure!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{name} is not installed");
    skipped(&format!("{name} is not installed"));
    Ok(None)
}

/// Says on standard error which check the running test leaves out, and why.
#[expect(clippy::print_stderr, reason = "a skipped check that is not named looks like one that passed")]
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    eprintln!("SKIPPED {}: {why}", thread.name().unwrap_or("a test"));
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps servers where only root's PATH looks.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    directories.map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// A port of the loopback interface that nobody listens on, for programs that can't pick one themselves.
pub fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// An nginx of the test's own: one process, its own directory, `hello world` on every path.
pub struct Nginx {
    process: Running,
    addr: SocketAddr,
    directory: Scratch,
}

impl Nginx {
    /// Starts it, unless it is not installed. It closes each connection after `keepalive_requests`.
    pub fn start(keepalive_requests: u32) -> Outcome<Option<Self>> {
        let Some(mut command) = peer("nginx")? else { return Ok(None) };
        let directory = Scratch::new("nginx")?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let config = directory.file("nginx.conf", config(addr, keepalive_requests))?;
        command.arg("-p").arg(directory.path()).arg("-c").arg(config).args(["-e", "error.log"]);
        let mut nginx = Self { process: Running::start(&mut command)?, addr, directory };
        nginx.wait_until_ready()?;
        Ok(Some(nginx))
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends it in order and returns how many requests stand in its access log.
    pub fn logged_requests(mut self) -> Outcome<usize> {
        self.process.signal(Signal::QUIT)?;
        let status = self.process.wait()?;
        ensure!(status.success(), "nginx ended with {status}: {}", self.process.output());
        Ok(std::fs::read_to_string(self.directory.path().join("access.log"))?.lines().count())
    }

    fn wait_until_ready(&mut self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(self.addr).is_err() {
            if self.process.has_ended()? || Instant::now() > deadline {
                return fail!("nginx does not start: {}", self.process.output());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// One process in the foreground, so that ending it by id ends all of it. Paths are relative to its own directory.
fn config(addr: SocketAddr, keepalive_requests: u32) -> String {
    let module = |name: &str| format!("{name}_temp_path {name};\n");
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(module).concat();
    format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\naccess_log access.log;\n{temporary}keepalive_requests {keepalive_requests};\n\
         server {{ listen {addr} backlog=4096; location / {{ return 200 'hello world'; }} }}\n}}\n"
    )
}
