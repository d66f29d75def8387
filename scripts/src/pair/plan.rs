//! Who runs on which CPUs.

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use ringshot_host::affinity::{self, CpuList};
use ringshot_server::config::{Steer, Wait};
use serde::Serialize;

use super::PairArgs;
use super::wire::{DriveOrder, ServeOrder};
use crate::error::LabError;

/// Which cores the two ends run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Each core runs one server worker and one client thread, and connections stay on their core
    Colocated,
    /// Half of the cores for the server, the others for the client
    Split,
}

/// A run as it is going to be.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) placement: Placement,
    pub(super) connections: u32,
    pub(super) pipeline: u32,
    pub(super) duration: Duration,
    pub(super) warmup: Duration,
    pub(super) wait: Wait,
    /// One worker on each.
    pub(super) server_cpus: CpuList,
    /// One thread on each; no more of them than connections.
    pub(super) client_cpus: CpuList,
}

impl Plan {
    pub(super) fn new(args: &PairArgs) -> Result<Self, LabError> {
        check_wait(args.placement, args.wait)?;
        let allowed = affinity::allowed_cpus().map_err(LabError::system("cannot read the CPUs of this process"))?;
        // More workers than the cgroup's quota of CPU time would only wait for each other.
        let usable = allowed.0.len().min(affinity::default_workers());
        let (server_cpus, client_cpus) = args.placement.seats(&allowed.0[..usable], args.connections as usize)?;
        Ok(Self {
            placement: args.placement,
            connections: args.connections,
            pipeline: args.pipeline,
            duration: args.duration.0,
            warmup: args.warmup(),
            wait: args.wait,
            server_cpus,
            client_cpus,
        })
    }

    /// Side by side, a packet of a connection is received on the client's core, where no worker is: only a hash can spread them.
    pub(super) fn steer(&self) -> Steer {
        match self.placement {
            Placement::Colocated => Steer::Cpu,
            Placement::Split => Steer::Hash,
        }
    }

    pub(super) fn serve_order(&self) -> ServeOrder {
        ServeOrder { cpus: self.server_cpus.clone(), steer: self.steer(), wait: self.wait }
    }

    pub(super) fn drive_order(&self, addr: SocketAddr, length: Duration) -> DriveOrder {
        DriveOrder {
            addr,
            connections: self.connections,
            pipeline: self.pipeline,
            cpus: self.client_cpus.clone(),
            wait: self.wait,
            length,
        }
    }
}

/// Two threads that never sleep on one core wait for each other's time slices: milliseconds instead of microseconds.
fn check_wait(placement: Placement, wait: Wait) -> Result<(), LabError> {
    if placement == Placement::Colocated && wait == Wait::Spin {
        let why =
            "--wait spin needs a core for each end: add --placement split, or let the ends sleep with --wait block";
        return Err(LabError::Usage(why.to_owned()));
    }
    Ok(())
}

impl Placement {
    /// The CPUs of the server and of the client. A thread of the client without a connection would have nothing to do, and beside
    /// it a worker that connections don't leave their core for neither.
    fn seats(self, cpus: &[usize], connections: usize) -> Result<(CpuList, CpuList), LabError> {
        let (server, client) = match self {
            Self::Colocated => {
                let used = &cpus[..cpus.len().min(connections)];
                (used, used)
            }
            // With an odd number the client gets one more: a load tool must not be the limit.
            Self::Split => {
                let (server, client) = cpus.split_at(cpus.len() / 2);
                (server, &client[..client.len().min(connections)])
            }
        };
        if server.is_empty() || client.is_empty() {
            return Err(LabError::Usage(format!(
                "split needs two cores and this process may use {}; --placement colocated runs on one",
                cpus.len()
            )));
        }
        Ok((CpuList(server.to_vec()), CpuList(client.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats() {
        let seats = |placement: Placement, cpus: &[usize], connections| {
            let (server, client) = placement.seats(cpus, connections).unwrap();
            (server.to_string(), client.to_string())
        };
        let table = [
            (Placement::Colocated, vec![0], 64, "0", "0"),
            (Placement::Colocated, vec![1, 3], 64, "1,3", "1,3"),
            (Placement::Colocated, vec![1, 3], 1, "1", "1"),
            (Placement::Split, vec![0, 1], 64, "0", "1"),
            (Placement::Split, vec![2, 4, 6], 64, "2", "4,6"),
            (Placement::Split, vec![0, 1, 2, 3], 64, "0-1", "2-3"),
            (Placement::Split, vec![0, 1, 2, 3], 1, "0-1", "2"),
        ];
        for (placement, cpus, connections, server, client) in table {
            let expected = (server.to_owned(), client.to_owned());
            assert_eq!(seats(placement, &cpus, connections), expected, "{placement:?}, {connections} on {cpus:?}");
        }
    }

    #[test]
    fn who_spins_needs_a_core() {
        for wait in [Wait::Block, Wait::Adaptive] {
            assert!(check_wait(Placement::Colocated, wait).is_ok());
        }
        assert!(check_wait(Placement::Split, Wait::Spin).is_ok());
        assert_eq!(check_wait(Placement::Colocated, Wait::Spin).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn one_core_can_not_be_split() {
        let error = Placement::Split.seats(&[0], 64).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("colocated"), "{error}");
    }
}
