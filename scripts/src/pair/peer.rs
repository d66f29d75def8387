//! An end of the pair, seen from the lab: a process of this executable that follows orders and can't outlive us.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::Answer;
use crate::error::LabError;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    fn command(self) -> &'static str {
        match self {
            Self::Server => "pair-server",
            Self::Client => "pair-client",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Server => "the server",
            Self::Client => "the client",
        }
    }
}

/// A running end. Dropping it ends the process; if we are ended ourselves, the kernel does (`PR_SET_PDEATHSIG`, set by the end).
pub(super) struct Peer {
    role: Role,
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Peer {
    /// Starts an end, which then waits for orders. Its stderr is ours.
    pub(super) fn start(role: Role) -> Result<Self, LabError> {
        let failed = |source| LabError::Start { program: role.name().to_owned(), source };
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg(role.command()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let (sender, answers) = channel();
        let orders = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                // Nobody listens any more once the peer is dropped.
                let _ = lines.into_iter().try_for_each(|line| sender.send(line));
            });
        }
        Ok(Self { role, child, orders, answers })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives an order and waits for its answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, order: &impl Serialize, within: Duration) -> Result<T, LabError> {
        let mut line = serde_json::to_string(order).map_err(|error| LabError::Usage(error.to_string()))?;
        line.push('\n');
        // An end that has gone can't take the order; the missing answer says so below.
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        }
        self.answer(within)
    }

    /// Says that there will be no more orders.
    pub(super) fn end_orders(&mut self) {
        self.orders = None;
    }

    /// Waits for an answer.
    pub(super) fn answer<T: DeserializeOwned>(&mut self, within: Duration) -> Result<T, LabError> {
        let program = || self.role.name().to_owned();
        let line = match self.answers.recv_timeout(within) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Err(LabError::Silent { program: program(), within_s: within.as_secs() });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.early_end()),
        };
        let answer: Answer<T> = serde_json::from_str(&line).map_err(|error| LabError::Refused {
            program: program(),
            message: format!("{error} in its answer {line:?}"),
            exit_code: 3,
        })?;
        answer.map_err(|refusal| LabError::Refused {
            program: program(),
            message: refusal.message,
            exit_code: refusal.exit_code,
        })
    }

    fn early_end(&mut self) -> LabError {
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        LabError::Ended { program: self.role.name().to_owned(), status }
    }

    /// Lets the process end by itself, as it does when there are no more orders.
    pub(super) fn dismiss(mut self, within: Duration) -> Result<(), LabError> {
        self.end_orders();
        let end = Instant::now() + within;
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(_)) | Err(_) => return Err(self.early_end()),
                Ok(None) => thread::sleep(Duration::from_millis(2)),
            }
        }
        Err(LabError::Silent { program: self.role.name().to_owned(), within_s: within.as_secs() })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail when the process has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
