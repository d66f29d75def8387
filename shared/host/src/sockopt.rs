//! Options of single sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::net::sockopt;

/// The descriptor of a socket whose type only tells its number.
#[must_use]
pub fn borrowed<T: AsRawFd>(socket: &T) -> BorrowedFd<'_> {
    crate::sys::borrowed(socket)
}

/// The CPU on which the socket's last packet was processed (`SO_INCOMING_CPU`, Linux 3.19). On loopback that is the sender's.
///
/// # Errors
/// Those of `getsockopt(2)`.
pub fn incoming_cpu(socket: impl AsFd) -> io::Result<u32> {
    Ok(sockopt::socket_incoming_cpu(socket)?)
}

/// Sends small segments at once (`TCP_NODELAY`). Accepted sockets inherit it from their listener.
///
/// # Errors
/// Those of `setsockopt(2)`.
pub fn set_nodelay(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, true)?)
}

/// Makes the close of this socket abortive: what is unsent is dropped and the peer gets a reset (`SO_LINGER` of zero seconds).
///
/// # Errors
/// Those of `setsockopt(2)`.
pub fn linger0(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn linger0_resets_the_peer() {
        let (near, mut far) = pair();
        linger0(&near).unwrap();
        drop(near);
        assert_eq!(far.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn nodelay_is_set() {
        let (near, _far) = pair();
        assert!(!near.nodelay().unwrap());
        set_nodelay(&near).unwrap();
        assert!(near.nodelay().unwrap());
    }

    #[test]
    fn a_loopback_packet_arrives_on_the_senders_cpu() {
        for cpu in crate::affinity::allowed_cpus().unwrap().0 {
            let arrived = std::thread::spawn(move || {
                crate::affinity::pin_thread(cpu).unwrap();
                let (_near, far) = pair();
                incoming_cpu(&far).unwrap()
            });
            assert_eq!(arrived.join().unwrap() as usize, cpu);
        }
    }
}
