//! One listening socket per worker on the same address (`SO_REUSEPORT`, `socket(7)`), so that accepting takes no lock.

use std::io;
use std::net::{SocketAddr, TcpListener};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

use crate::steer::{self, SteerError};
use crate::{sockopt, sys};

/// Which listener of the group gets a new connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steer {
    /// The kernel's hash over addresses and ports. Even only on average: 64 connections over 2 listeners split 36 to 28 every
    /// other time.
    #[default]
    Hash,
    /// The listener of the CPU on which the connection arrives.
    Cpu,
}

/// What to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenSpec {
    /// Port 0 lets the kernel choose one, which the whole group then shares.
    pub addr: SocketAddr,
    /// Connections that may wait for an accept, per listener. The kernel silently caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// How connections are spread over the group.
    pub steer: Steer,
}

/// Why there is no listener. Every message says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Somebody listens there, maybe another server of ours.
    #[error("{addr} is in use: stop the program that listens there (ss -ltnp shows it) or choose another port")]
    InUse {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// The port is privileged, or a security module says no.
    #[error(
        "no permission to listen on {addr}: ports below net.ipv4.ip_unprivileged_port_start need root or \
         CAP_NET_BIND_SERVICE; choose a port from 1024"
    )]
    Permission {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// No interface of this machine has the address, or its family is switched off.
    #[error("{} is no address of this machine: ip addr shows those that are; 0.0.0.0 or [::] means all", addr.ip())]
    NotAvailable {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// The process has no file descriptor left.
    #[error("no file descriptor left for the listeners on {addr}: raise ulimit -n or start fewer workers")]
    TooManyFiles {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// Steering by CPU can't be done with these workers.
    #[error("cannot steer connections by CPU: {0}; steer by hash instead")]
    Steer(#[from] SteerError),
    /// The kernel refuses for another reason.
    #[error("cannot listen on {addr}: {action}: {source}")]
    System {
        /// The address that was asked for.
        addr: SocketAddr,
        /// What was tried.
        action: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

/// Opens `workers` nonblocking listeners on one address, the one of worker `i` at index `i`. Worker `i` is to run on
/// `cpus[i % cpus.len()]`; that matters to [`Steer::Cpu`] only.
///
/// `TCP_NODELAY` is set on the listeners, from which accepted sockets inherit it: one system call less per connection.
///
/// # Errors
/// [`ListenError`], in particular [`ListenError::InUse`] when any other socket listens there, even one with `SO_REUSEPORT`.
pub fn bind_group(spec: &ListenSpec, workers: usize, cpus: &[usize]) -> Result<Vec<TcpListener>, ListenError> {
    let program = match spec.steer {
        Steer::Hash => None,
        Steer::Cpu => Some(steer::by_cpu(workers, cpus)?),
    };
    let mut addr = spec.addr;
    let mut group: Vec<TcpListener> = Vec::with_capacity(workers);
    for worker in 0..workers {
        let listener = open(spec, addr, worker == 0)?;
        addr = listener.local_addr().map_err(refused(spec.addr, "getsockname"))?;
        group.push(listener);
    }
    if let (Some(program), Some(first)) = (program, group.first()) {
        // Once for the group and after its last listener began to listen: an index must not miss while the group grows.
        sys::attach_reuseport_cbpf(first, &program).map_err(refused(spec.addr, "SO_ATTACH_REUSEPORT_CBPF"))?;
    }
    Ok(group)
}

/// Opens one listener of the group.
///
/// With `SO_REUSEPORT` a bind succeeds next to any other server of the same user that has set it too, and the two would then share
/// the connections. So the first socket binds without it, which the kernel refuses when anybody is there and which keeps others
/// out from then on; only then it opens up for its own siblings.
fn open(spec: &ListenSpec, addr: SocketAddr, is_first: bool) -> Result<TcpListener, ListenError> {
    let failed = |action| refused(spec.addr, action);
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP)).map_err(failed("socket"))?;
    // Connections of a server that has just ended must not keep the next one from starting.
    socket.set_reuse_address(true).map_err(failed("SO_REUSEADDR"))?;
    if addr.is_ipv6() {
        // Else [::] would claim 0.0.0.0 too, depending on a sysctl.
        socket.set_only_v6(true).map_err(failed("IPV6_V6ONLY"))?;
    }
    if is_first {
        socket.bind(&addr.into()).map_err(failed("bind"))?;
    }
    socket.set_reuse_port(true).map_err(failed("SO_REUSEPORT"))?;
    if !is_first {
        socket.bind(&addr.into()).map_err(failed("bind"))?;
    }
    sockopt::set_nodelay(&socket).map_err(failed("TCP_NODELAY"))?;
    socket.set_nonblocking(true).map_err(failed("O_NONBLOCK"))?;
    socket.listen(i32::try_from(spec.backlog).unwrap_or(i32::MAX)).map_err(failed("listen"))?;
    Ok(socket.into())
}

fn refused(addr: SocketAddr, action: &'static str) -> impl Fn(io::Error) -> ListenError {
    move |source| match Errno::from_io_error(&source) {
        Some(Errno::ADDRINUSE) => ListenError::InUse { addr },
        Some(Errno::ACCESS | Errno::PERM) => ListenError::Permission { addr },
        Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT) => ListenError::NotAvailable { addr },
        Some(Errno::MFILE | Errno::NFILE) => ListenError::TooManyFiles { addr },
        _ => ListenError::System { addr, action, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::{allowed_cpus, pin_thread};
    use std::io::ErrorKind;
    use std::net::TcpStream;

    const LOOPBACK: &str = "127.0.0.1:0";

    fn spec(addr: &str, steer: Steer) -> ListenSpec {
        ListenSpec { addr: addr.parse().unwrap(), backlog: 1024, steer }
    }

    fn group(addr: &str, steer: Steer, workers: usize, cpus: &[usize]) -> Vec<TcpListener> {
        bind_group(&spec(addr, steer), workers, cpus).unwrap()
    }

    /// Accepts what waits on a listener.
    fn accepted(listener: &TcpListener) -> usize {
        let mut count = 0;
        loop {
            match listener.accept() {
                Ok(_) => count += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
                Err(error) => panic!("accept: {error}"),
            }
        }
    }

    /// Connects `count` times from a thread on `cpu`. A connect that returned has reached the backlog of its listener.
    fn connect_from(cpu: usize, addr: SocketAddr, count: usize) -> Vec<TcpStream> {
        let connect = move || {
            pin_thread(cpu).unwrap();
            (0..count).map(|_| TcpStream::connect(addr).unwrap()).collect()
        };
        std::thread::spawn(connect).join().unwrap()
    }

    #[test]
    fn a_group_shares_a_port_of_the_kernels_choice() {
        for addr in [LOOPBACK, "[::1]:0"] {
            let group = group(addr, Steer::Hash, 3, &[0]);
            let port = group[0].local_addr().unwrap().port();
            assert_ne!(port, 0);
            assert!(group.iter().all(|listener| listener.local_addr().unwrap().port() == port));
            let _held: Vec<_> = (0..30).map(|_| TcpStream::connect(group[0].local_addr().unwrap()).unwrap()).collect();
            assert_eq!(group.iter().map(accepted).sum::<usize>(), 30, "{addr}");
        }
    }

    #[test]
    fn both_families_can_hold_the_same_port() {
        let v4 = group("0.0.0.0:0", Steer::Hash, 1, &[]);
        let port = v4[0].local_addr().unwrap().port();
        group(&format!("[::]:{port}"), Steer::Hash, 1, &[]);
    }

    #[test]
    fn accepted_sockets_inherit_nodelay() {
        let group = group(LOOPBACK, Steer::Hash, 1, &[]);
        let _near = TcpStream::connect(group[0].local_addr().unwrap()).unwrap();
        assert!(group[0].accept().unwrap().0.nodelay().unwrap());
    }

    #[test]
    fn every_connection_reaches_the_listener_of_its_cpu() {
        let cpus = allowed_cpus().unwrap().0;
        let reversed: Vec<usize> = cpus.iter().rev().copied().collect();
        for order in [cpus, reversed] {
            let group = group(LOOPBACK, Steer::Cpu, order.len(), &order);
            let addr = group[0].local_addr().unwrap();
            for (worker, &cpu) in order.iter().enumerate() {
                let _held = connect_from(cpu, addr, 50);
                let counts: Vec<usize> = group.iter().map(accepted).collect();
                let expected: Vec<usize> = (0..order.len()).map(|i| if i == worker { 50 } else { 0 }).collect();
                assert_eq!(counts, expected, "from CPU {cpu}, workers on {order:?}");
            }
        }
    }

    #[test]
    fn a_cpu_without_a_worker_is_served_by_the_others() {
        let cpus = allowed_cpus().unwrap().0;
        let elsewhere = [cpus.iter().max().unwrap() + 1, cpus.iter().max().unwrap() + 2];
        let group = group(LOOPBACK, Steer::Cpu, 2, &elsewhere);
        let _held = connect_from(cpus[0], group[0].local_addr().unwrap(), 50);
        assert_eq!(group.iter().map(accepted).sum::<usize>(), 50);
    }

    #[test]
    fn several_workers_on_a_cpu_share_its_connections() {
        let cpu = allowed_cpus().unwrap().0[0];
        let group = group(LOOPBACK, Steer::Cpu, 2, &[cpu]);
        let _held = connect_from(cpu, group[0].local_addr().unwrap(), 100);
        let counts: Vec<usize> = group.iter().map(accepted).collect();
        // Either share is empty once in 2^99 runs.
        assert!(counts.iter().all(|&count| count > 0) && counts.iter().sum::<usize>() == 100, "{counts:?}");
    }

    #[test]
    fn a_port_in_use_is_refused_whoever_has_it() {
        let ours = group(LOOPBACK, Steer::Hash, 2, &[]);
        let foreign = TcpListener::bind(LOOPBACK).unwrap();
        for held in [&ours[0], &foreign] {
            let addr = held.local_addr().unwrap().to_string();
            let error = bind_group(&spec(&addr, Steer::Hash), 2, &[]).unwrap_err();
            assert!(matches!(error, ListenError::InUse { .. }), "{error:?}");
            assert!(error.to_string().contains(&addr), "{error}");
        }
    }

    #[test]
    fn a_port_is_free_again_at_once() {
        let first = group(LOOPBACK, Steer::Hash, 2, &[]);
        let addr = first[0].local_addr().unwrap();
        let near: Vec<_> = (0..8).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let far: Vec<_> = first.iter().flat_map(|listener| listener.accept()).collect();
        // The server closes first, so its side is the one that stays behind in TIME_WAIT.
        drop((far, first, near));
        group(&addr.to_string(), Steer::Hash, 2, &[]);
    }

    #[test]
    fn an_address_of_somebody_else_is_refused() {
        // TEST-NET-1 (RFC 5737) and its IPv6 sibling (RFC 3849) are assigned to nobody.
        for addr in ["192.0.2.1:8080", "[2001:db8::1]:8080"] {
            let error = bind_group(&spec(addr, Steer::Hash), 1, &[]).unwrap_err();
            assert!(matches!(error, ListenError::NotAvailable { .. }), "{error:?}");
        }
    }

    #[test]
    fn steering_needs_a_cpu() {
        let error = bind_group(&spec(LOOPBACK, Steer::Cpu), 1, &[]).unwrap_err();
        assert!(matches!(error, ListenError::Steer(SteerError::NoCpus)), "{error:?}");
        assert!(bind_group(&spec(LOOPBACK, Steer::Hash), 0, &[]).unwrap().is_empty());
    }

    #[test]
    fn what_the_kernel_says_becomes_advice() {
        let addr: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let told = |errno: Errno| refused(addr, "bind")(errno.into()).to_string();
        assert!(told(Errno::ACCESS).contains("CAP_NET_BIND_SERVICE"));
        assert!(told(Errno::MFILE).contains("ulimit -n"));
        assert!(told(Errno::NOMEM).contains("bind"));
    }
}
