//! What the machine spends while the pair runs.

use ringshot_host::usage::{MachineCpu, TcpTrouble, process_cpu_ns};

use crate::error::LabError;

/// Readings at one moment, or the difference of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    /// Of all threads of the server.
    pub(super) server_cpu_ns: u64,
    pub(super) machine: MachineCpu,
    pub(super) tcp: TcpTrouble,
}

impl Meter {
    pub(super) fn read(server_pid: u32) -> Result<Self, LabError> {
        Ok(Self {
            server_cpu_ns: process_cpu_ns(server_pid).map_err(LabError::system("cannot read the server's CPU time"))?,
            machine: MachineCpu::read().map_err(LabError::system("cannot read /proc/stat"))?,
            tcp: TcpTrouble::read().map_err(LabError::system("cannot read the counters of TCP"))?,
        })
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            server_cpu_ns: self.server_cpu_ns.saturating_sub(earlier.server_cpu_ns),
            machine: self.machine.since(&earlier.machine),
            tcp: self.tcp.since(&earlier.tcp),
        }
    }
}
