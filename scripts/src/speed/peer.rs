//! Processes that are measured: started on given CPUs, ended by their id, and their CPU time read from outside.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::LabError;

/// Longest wait for a server to answer its first connection.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A server that runs until it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) addr: SocketAddr,
    /// Its configuration lives as long as the server does.
    _dir: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts `command`, which listens at `addr`.
    pub(super) fn start(
        mut command: Command,
        addr: SocketAddr,
        dir: Option<tempfile::TempDir>,
    ) -> Result<Self, LabError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|source| LabError::Start { program: name.clone(), source })?;
        let mut server = Self { child, addr, _dir: dir };
        let end = Instant::now() + READY_WITHIN;
        while Instant::now() < end {
            if TcpStream::connect(addr).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(LabError::Ended { program: name, status: status.to_string() });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(LabError::Silent { program: name, within_s: READY_WITHIN.as_secs() })
    }

    /// CPU time of the server and its children, in ns.
    pub(super) fn cpu_ns(&self) -> Result<u64, LabError> {
        let own = self.child.id();
        let mut total_ns = 0;
        for pid in std::iter::once(own).chain(children_of(own)) {
            total_ns +=
                ringshot_host::usage::process_cpu_ns(pid).map_err(LabError::system("read the CPU time of a server"))?;
        }
        Ok(total_ns)
    }
}

impl Drop for Server {
    /// SIGTERM lets nginx take its workers along; a server that ignores it for a second is killed.
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// What a load tool said and cost.
pub(super) struct Finished {
    pub(super) stdout: String,
    /// User and system time of the process, from its accounting after the end.
    pub(super) cpu_ns: u64,
}

/// Runs a load tool to its end.
pub(super) fn run_load(mut command: Command) -> Result<Finished, LabError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|source| LabError::Start { program: name.clone(), source })?;
    let mut stdout = String::new();
    if let Some(pipe) = &mut child.stdout {
        pipe.read_to_string(&mut stdout).map_err(LabError::system("read what a load tool prints"))?;
    }
    wait_without_reaping(child.id())?;
    let cpu_ns = stat_cpu_ns(child.id())?;
    child.wait().map_err(LabError::system("wait for a load tool"))?;
    Ok(Finished { stdout, cpu_ns })
}

/// Until it is reaped, an ended process still shows the time that all of its threads have used.
fn wait_without_reaping(pid: u32) -> Result<(), LabError> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let Some(pid) = Pid::from_raw(pid as i32) else { return Ok(()) };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).map(drop).map_err(|errno| LabError::system("wait for a load tool")(errno.into()))
}

/// utime and stime of proc_pid_stat(5), in ns.
fn stat_cpu_ns(pid: u32) -> Result<u64, LabError> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_err(LabError::system("read the CPU time of a load tool"))?;
    let ticks = parse_stat_ticks(&text).unwrap_or(0);
    Ok(ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// Fields 14 and 15; the name in field 2 may hold anything, so counting starts behind its closing parenthesis.
fn parse_stat_ticks(text: &str) -> Option<u64> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// An address on loopback that nobody listens on now.
pub(super) fn free_addr() -> Result<SocketAddr, LabError> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(LabError::system("find a free port"))
}

/// `program` on the CPUs of `list`, by taskset(1); anywhere when the list is empty.
pub(super) fn pinned(list: &str, program: &str) -> Command {
    if list.is_empty() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", list, program]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 12 34 0 0 20 0 1 0 100 1000 10";
        assert_eq!(parse_stat_ticks(stat), Some(46));
        assert_eq!(parse_stat_ticks("7 (x"), None);
    }
}
