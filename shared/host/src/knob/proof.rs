//! Whether a change took effect: not what the file says, but what a new connection got.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use socket2::{Domain, SockRef, Socket, Type};

use crate::counters;
use crate::knob::At;
use crate::root::Root;

/// How a knob's effect can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// getsockopt(TCP_CONGESTION) of a new connection names the value.
    Congestion,
    /// getsockopt(TCP_MAXSEG) of a new connection is what device and time stamps leave.
    Mss,
    /// getsockopt(TCP_INFO) of a new connection has the option, or hasn't when the value is 0.
    Negotiated(TcpOption),
    /// getsockopt(SO_RCVBUF) of a new socket is the middle value.
    ReceiveBuffer,
    /// getsockopt(SO_SNDBUF) of a new socket is the middle value.
    SendBuffer,
    /// A new connection's own port is in the range.
    LocalPort,
    /// getrlimit(2) says so.
    NoFile,
    /// A TCP counter tells, while traffic runs.
    Counter {
        /// Its name in /proc/net/netstat or /proc/net/snmp.
        name: &'static str,
        /// What it does.
        expect: &'static str,
    },
    /// What to look at, for a person.
    Words(&'static str),
}

/// An option that both ends agree on in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// RFC 7323.
    Timestamps,
    /// RFC 2018.
    Sack,
}

impl TcpOption {
    /// Its bit in tcpi_options (linux/tcp.h, TCPI_OPT_*) and its name there.
    const fn bit(self) -> (u8, &'static str) {
        match self {
            Self::Timestamps => (1, "TIMESTAMPS"),
            Self::Sack => (2, "SACK"),
        }
    }
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The effect is there: what was seen.
    Seen(String),
    /// The effect is missing: what was seen instead. An experiment with this knob has no verdict.
    Missing(String),
    /// It can be seen only while traffic runs, or by a person: what to look at.
    Later(String),
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seen(what) => write!(f, "seen: {what}"),
            Self::Missing(what) => write!(f, "MISSING: {what}"),
            Self::Later(what) => write!(f, "to be seen: {what}"),
        }
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Congestion => f.write_str("getsockopt(TCP_CONGESTION) of a new connection names it"),
            Self::Mss => {
                f.write_str("getsockopt(TCP_MAXSEG) of a new connection: MTU - 40, and 12 less with time stamps")
            }
            Self::Negotiated(option) => {
                write!(f, "getsockopt(TCP_INFO) of a new connection shows {}, or not when it is 0", option.bit().1)
            }
            Self::ReceiveBuffer => f.write_str("getsockopt(SO_RCVBUF) of a new socket is the middle value"),
            Self::SendBuffer => f.write_str("getsockopt(SO_SNDBUF) of a new socket is the middle value"),
            Self::LocalPort => f.write_str("a new connection's own port lies in the range"),
            Self::NoFile => f.write_str("getrlimit(RLIMIT_NOFILE)"),
            Self::Counter { name, expect } => write!(f, "TCP counter {name} {expect}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

impl Effect {
    /// Looks for the effect of `value` in the caller's network namespace, which must have loopback up for what needs a
    /// connection.
    ///
    /// # Errors
    /// When no connection over loopback could be made or asked.
    pub fn check(self, at: &At<'_>, value: &str) -> std::io::Result<Proof> {
        match self {
            Self::Congestion => congestion(value),
            Self::Mss => mss(at),
            Self::Negotiated(option) => negotiated(option, value),
            Self::ReceiveBuffer => Ok(middle(value, unconnected()?.recv_buffer_size()?, "SO_RCVBUF")),
            Self::SendBuffer => Ok(middle(value, unconnected()?.send_buffer_size()?, "SO_SNDBUF")),
            Self::LocalPort => local_port(value),
            Self::NoFile => Ok(nofile(value)),
            Self::Counter { name, expect } => {
                let now = counters::read(&at.root.proc, name).map_or_else(|| "absent".to_owned(), |n| n.to_string());
                Ok(Proof::Later(format!("TCP counter {name} (now {now}) {expect}")))
            }
            Self::Words(words) => Ok(Proof::Later(words.to_owned())),
        }
    }
}

fn verdict(seen: bool, what: String) -> Proof {
    if seen { Proof::Seen(what) } else { Proof::Missing(what) }
}

/// A connection over loopback, the connecting end first.
fn connection() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    Ok((near, far))
}

fn unconnected() -> std::io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, None)
}

fn congestion(value: &str) -> std::io::Result<Proof> {
    let (_, far) = connection()?;
    let name = SockRef::from(&far).tcp_congestion()?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok(verdict(name == value, format!("TCP_CONGESTION of a new connection is {name}")))
}

/// The largest segment that loopback's first window lets a connection use, whatever the device could carry: half of it.
const HALF_WINDOW_BYTES: u32 = 32768;

/// IPv4 and TCP headers take 20 bytes each, time stamps with their padding 12; an IPv4 packet has at most 65535 bytes.
fn mss(at: &At<'_>) -> std::io::Result<Proof> {
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u32>().ok());
    let mtu = number(Root::read(&at.root.device("lo").join("mtu"))).unwrap_or(65536);
    let stamps = number(Root::read(&at.root.sysctl("net/ipv4/tcp_timestamps"))).unwrap_or(1) > 0;
    let whole = mtu.min(65535).saturating_sub(if stamps { 52 } else { 40 });
    let (near, _) = connection()?;
    let found = SockRef::from(&near).tcp_mss()?;
    let seen = (whole.min(HALF_WINDOW_BYTES)..=whole).contains(&found);
    Ok(verdict(seen, format!("TCP_MAXSEG of a new connection is {found}, the device carries {whole}")))
}

fn negotiated(option: TcpOption, value: &str) -> std::io::Result<Proof> {
    let (near, _) = connection()?;
    let options = crate::sys::tcp_info_options(near.as_fd())?;
    let (bit, name) = option.bit();
    let (is_on, wanted) = (options & bit != 0, value != "0");
    Ok(verdict(is_on == wanted, format!("TCP_INFO of a new connection {} {name}", if is_on { "has" } else { "lacks" })))
}

fn middle(triple: &str, found: usize, option: &str) -> Proof {
    let wanted = triple.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
    verdict(wanted == Some(found), format!("{option} of a new socket is {found}"))
}

fn local_port(range: &str) -> std::io::Result<Proof> {
    let mut ends = range.split_whitespace().map(str::parse::<u16>);
    let (Some(Ok(low)), Some(Ok(high))) = (ends.next(), ends.next()) else {
        return Ok(Proof::Missing(format!("not a range: {range}")));
    };
    let port = connection()?.0.local_addr()?.port();
    Ok(verdict((low..=high).contains(&port), format!("a new connection came from port {port}")))
}

fn nofile(value: &str) -> Proof {
    let soft = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    verdict(value.parse().ok() == soft, format!("RLIMIT_NOFILE is {soft:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_has_is_seen_and_what_it_has_not_is_missing() {
        let root = Root::host();
        let at = At { root: &root, device: "lo" };
        let sysctl = |name: &str| Root::read(&root.sysctl(name)).unwrap_or_default();
        let opposite = |name: &str| if sysctl(name) == "0" { "1" } else { "0" };
        let soft = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(0);
        let cases = [
            (Effect::Congestion, sysctl("net/ipv4/tcp_congestion_control"), "no_such_algorithm"),
            (Effect::ReceiveBuffer, sysctl("net/ipv4/tcp_rmem"), "1 2 3"),
            (Effect::SendBuffer, sysctl("net/ipv4/tcp_wmem"), "1 2 3"),
            (Effect::LocalPort, sysctl("net/ipv4/ip_local_port_range"), "1 2"),
            (Effect::NoFile, soft.to_string(), "3"),
            (
                Effect::Negotiated(TcpOption::Timestamps),
                sysctl("net/ipv4/tcp_timestamps"),
                opposite("net/ipv4/tcp_timestamps"),
            ),
            (Effect::Negotiated(TcpOption::Sack), sysctl("net/ipv4/tcp_sack"), opposite("net/ipv4/tcp_sack")),
        ];
        for (effect, right, wrong) in cases {
            let proof = effect.check(&at, &right).expect("loopback");
            assert!(matches!(proof, Proof::Seen(_)), "{effect:?} {right}: {proof}");
            let proof = effect.check(&at, wrong).expect("loopback");
            assert!(matches!(proof, Proof::Missing(_)), "{effect:?} {wrong}: {proof}");
        }
    }

    #[test]
    fn a_counter_is_named_with_its_value() {
        let root = Root::host();
        let effect = Effect::Counter { name: "ListenOverflows", expect: "grows" };
        let proof = effect.check(&At { root: &root, device: "lo" }, "1").expect("no socket needed");
        assert!(matches!(&proof, Proof::Later(text) if text.contains("ListenOverflows")), "{proof}");
    }
}
