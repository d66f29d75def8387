//! Finds, starts, watches and ends the programs under test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Failure, Outcome};
use crate::{ensure, fail};

/// How long a test waits for what must happen. Only something that hangs ever reaches it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long nothing must happen before a test believes that nothing will.
pub const SILENCE: Duration = Duration::from_millis(200);

/// The path of a program of this workspace, built with the profile of the running test.
///
/// Cargo hands a package's tests only its own executables, so the first call builds those of the workspace.
/// Cargo does not hold its build lock while tests run.
pub fn program(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(build).join(name)
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    // <target>[/<triple>]/<profile directory>/deps/<test>
    let directory = test.ancestors().nth(2).expect("cargo puts tests two levels below the executables");
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = directory.ancestors().find(|path| path.join("CACHEDIR.TAG").exists()).unwrap_or(directory);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--workspace", "--bins", "--profile", profile, "--target-dir"])
        .arg(target)
        .stdin(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the programs under test do not build");
    directory.to_owned()
}

/// The file that describes the server which the conformance cases expect.
pub fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture.toml")
}

/// The engines that this server was built with, as `--engine` takes them.
pub fn engines() -> &'static [String] {
    static ENGINES: OnceLock<Vec<String>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let help = Command::new(program("ringshot-server")).arg("--help").output().expect("the server starts");
        let help = String::from_utf8_lossy(&help.stdout);
        let words: Vec<&str> = help.split(|c: char| c != '-' && !c.is_alphanumeric()).collect();
        let known = ["uring", "epoll", "tokio-uring"].into_iter();
        let engines: Vec<String> = known.filter(|engine| words.contains(engine)).map(str::to_owned).collect();
        assert!(!engines.is_empty(), "no engine in --help:\n{help}");
        engines
    })
}

/// Runs a test against a fresh server on every engine.
pub fn each_engine(args: &[&str], test: impl Fn(&Server) -> Outcome) -> Outcome {
    for engine in engines() {
        let server = Server::start(engine, args)?;
        test(&server).map_err(|failure| failure.within(engine))?;
        server.stop().map_err(|failure| failure.within(engine))?;
    }
    Ok(())
}

/// A running program whose output is collected; killed by id on drop.
pub struct Running {
    child: Child,
    output: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts a program with nothing on its standard input.
    pub fn start(command: &mut Command) -> Outcome<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Failure::new(format!("{command:?}: {error}")))?;
        let output = Arc::default();
        let readers = vec![
            collect(child.stdout.take().expect("stdout is piped"), &output),
            collect(child.stderr.take().expect("stderr is piped"), &output),
        ];
        Ok(Self { child, output, readers })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that the program has written so far.
    pub fn output(&self) -> String {
        self.output.lock().expect("readers do not panic").clone()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Outcome {
        Ok(kill_process(Pid::from_child(&self.child), signal).map_err(std::io::Error::from)?)
    }

    /// The exit status, once the program is through.
    pub fn wait(&mut self) -> Outcome<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                for reader in self.readers.drain(..) {
                    reader.join().expect("readers do not panic");
                }
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "still running; it wrote:\n{}", self.output());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Outcome<bool> {
        Ok(self.child.try_wait()?.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(pipe: impl Read + Send + 'static, output: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let output = Arc::clone(output);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut output = output.lock().expect("readers do not panic");
            output.push_str(&line);
            output.push('\n');
        }
    })
}

/// A `ringshot-server` that is ready to serve.
pub struct Server {
    process: Running,
    addr: SocketAddr,
}

impl Server {
    /// Starts a server on a free port of the loopback interface.
    pub fn start(engine: &str, args: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(program("ringshot-server"));
        command.args(["--listen", "127.0.0.1:0", "--engine", engine]).args(args);
        Self::ready(Running::start(&mut command)?)
    }

    /// Waits until a server says where it listens.
    pub fn ready(mut process: Running) -> Outcome<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(addr) = listening_at(&process.output()) {
                return Ok(Self { process, addr });
            }
            ensure!(!process.has_ended()?, "the server ended at once; it wrote:\n{}", process.output());
            ensure!(Instant::now() < deadline, "the server is not ready; it wrote:\n{}", process.output());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The process itself.
    pub fn process(&self) -> &Running {
        &self.process
    }

    /// Asks it to end and checks that it does so in order.
    pub fn stop(self) -> Outcome {
        self.process.signal(Signal::TERM)?;
        self.ended()
    }

    /// Waits for an end that was asked for, which must be an orderly one.
    pub fn ended(mut self) -> Outcome {
        let status = self.process.wait()?;
        ensure!(status.code() == Some(0), "the server ended with {status}; it wrote:\n{}", self.process.output());
        Ok(())
    }
}

/// The address in a line such as `listening on http://127.0.0.1:43211/`.
fn listening_at(output: &str) -> Option<SocketAddr> {
    let lines = output.lines().filter_map(|line| line.split_once("listening on http://"));
    lines.filter_map(|(_, rest)| rest.split_once('/')).find_map(|(addr, _)| addr.parse().ok())
}

/// A number of requests or connections, made smaller where the programs are built without optimisation.
pub fn scaled(full: usize) -> usize {
    let percent = std::env::var("RINGSHOT_TEST_SCALE").ok().and_then(|text| text.parse().ok());
    let default = if cfg!(debug_assertions) { 20 } else { 100 };
    full * percent.unwrap_or(default) / 100
}

/// Runs a program to its end and returns what it wrote to standard output; its failure is ours.
pub fn run(command: &mut Command) -> Outcome<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| Failure::new(format!("{command:?}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return fail!("{command:?} ended with {}\n{text}{errors}", output.status);
    }
    Ok(text)
}
