//! Reads the JSON report of the load tool.

use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::programs::program;
use crate::{ensure, fail};

/// The report of one run, and how the run ended.
#[derive(Debug)]
pub struct Report {
    report: Value,
    /// Exit status of the program.
    pub code: i32,
}

/// Classes of requests that were answered in full.
pub const COMPLETED: [&str; 4] = ["completed2xx", "completed3xx", "completed4xx", "completed5xx"];
/// Classes of requests that were not.
pub const FAILED: [&str; 6] = ["connect", "reset", "closed_early", "protocol", "timeout", "cancelled"];

impl Report {
    /// Runs the load tool to its end. Checks that the sums of its report balance.
    pub fn of(args: &[&str]) -> Outcome<Self> {
        let output = Command::new(program("ringshot-client")).args(["--format", "json"]).args(args).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some(code) = output.status.code() else { return fail!("{args:?}: {}", output.status) };
        let report = serde_json::from_str(&text).map_err(|error| {
            let errors = String::from_utf8_lossy(&output.stderr);
            Failure::new(format!("{args:?}: {error} in the report: {text}\n{errors}"))
        })?;
        let report = Self { report, code };
        let ended: u64 = COMPLETED.iter().chain(&FAILED).map(|class| report.class(class)).sum();
        let balanced = ended == report.started() && report.report["requests"]["balanced"] == true;
        ensure!(balanced, "the sums do not balance: {report:?}");
        Ok(report)
    }

    /// Requests that the run started.
    pub fn started(&self) -> u64 {
        self.number("/requests/started")
    }

    /// Requests that ended in this class.
    pub fn class(&self, class: &str) -> u64 {
        self.count("/classes", "class", &class.into())
    }

    /// Requests that were answered in full.
    pub fn completed(&self) -> u64 {
        COMPLETED.iter().map(|class| self.class(class)).sum()
    }

    /// Responses with this status.
    pub fn status(&self, status: u64) -> u64 {
        self.count("/statuses", "status", &status.into())
    }

    /// The count of the entry of a list that has this value under `key`; 0 when there is none.
    fn count(&self, list: &str, key: &str, value: &Value) -> u64 {
        let list = self.report.pointer(list).and_then(Value::as_array).into_iter().flatten();
        list.filter(|entry| entry[key] == *value).filter_map(|entry| entry["count"].as_u64()).sum()
    }

    /// A number at a JSON pointer; the schema promises that it is there.
    pub fn number(&self, pointer: &str) -> u64 {
        let number = self.report.pointer(pointer).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number at {pointer} in {}", self.report))
    }
}
