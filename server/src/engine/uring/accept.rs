//! Where connections come from: listening sockets, their multishot accepts, the gate, and the end of accepting.

use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use ringshot_uring::{Completion, Key, Op, Uring};

use super::Engine;
use crate::conn::Conn;
use crate::engine::EngineError;
use crate::gate::Change;
use crate::gate::OUT_OF_DESCRIPTORS;

/// Slot numbers of listeners in keys; no connection's comes near.
const LISTENERS: u32 = 0xffff_0000;

/// A listening socket and its accept.
pub(super) struct Listening {
    socket: TcpListener,
    /// The accept is in force, or its end is still to come. Set when asked for, cleared by the completion without F_MORE.
    armed: bool,
    /// Its end was asked for.
    stopping: bool,
}

impl Listening {
    /// The ring reports EAGAIN on a non-blocking listener instead of waiting.
    pub(super) fn new(socket: TcpListener) -> Result<Option<Self>, EngineError> {
        let blocking = socket.set_nonblocking(false);
        blocking.map_err(|source| EngineError::Call { call: "fcntl", source })?;
        Ok(Some(Self { socket, armed: false, stopping: false }))
    }
}

impl<R: Uring> Engine<R> {
    pub(super) fn on_accept(&mut self, mut done: Completion) {
        let index = (done.key().slot() as u32 - LISTENERS) as usize;
        if let Some(Some(listening)) = self.listeners.get_mut(index)
            && !done.more
        {
            listening.armed = false;
        }
        match done.result {
            Ok(_) => {
                if let Some(fd) = done.take_fd() {
                    self.on_connection(fd);
                }
            }
            // ENOBUFS and ENOMEM pass like a lack of descriptors. All others belong to the connection that was to be
            // accepted (accept(2), "Error handling"), or say that the accept was cancelled.
            Err(errno) if errno.is_fd_limit() || errno.is_memory() || errno.is_no_buffers() => {
                self.gate.refused(self.local.now_ns, self.conns.len());
            }
            Err(_) => {}
        }
        if self.local.draining && !done.more {
            self.take_backlog(index);
        }
    }

    /// More than the limit are not served at once, and not turned away either: the kernel may accept several before it
    /// learns that it should stop.
    fn on_connection(&mut self, fd: OwnedFd) {
        if self.conns.is_full() || !self.surplus.is_empty() {
            return self.surplus.push_back(fd);
        }
        let now_ns = self.local.now_ns;
        self.local.count_accepted(fd.as_fd(), self.conns.len() + 1);
        let conn = match self.spare.pop() {
            Some(conn) => conn.reuse(fd, now_ns),
            None => Conn::new(fd, now_ns),
        };
        if let Ok(key) = self.conns.insert(conn) {
            self.timers.watch(key.slot(), key, now_ns);
            self.settle(key);
        }
    }

    pub(super) fn take_surplus(&mut self) {
        let mut waiting = std::mem::take(&mut self.surplus);
        while let Some(fd) = (!self.conns.is_full()).then(|| waiting.pop_front()).flatten() {
            self.on_connection(fd);
        }
        self.surplus = waiting;
    }

    /// The stop begins: no new connection but those that the kernel has completed already, and a bound for the rest.
    pub(super) fn drain(&mut self) {
        self.local.draining = true;
        self.gate.shut();
        self.grace_until_ns = Some(self.local.now_ns.saturating_add(self.local.config.limits.grace.as_ns()));
        for index in 0..self.listeners.len() {
            if self.listeners[index].as_ref().is_some_and(|listening| !listening.armed) {
                self.take_backlog(index);
            }
        }
        self.for_all(|conn, _| conn.drain());
    }

    /// Takes what waits in a listener's queue, then closes it: closing it first would reset those connections.
    fn take_backlog(&mut self, index: usize) {
        let Some(listening) = self.listeners.get_mut(index).and_then(Option::take) else { return };
        if listening.socket.set_nonblocking(true).is_err() {
            return;
        }
        while let Ok((stream, _)) = listening.socket.accept() {
            // The ring reports EAGAIN on a non-blocking socket instead of waiting.
            if stream.set_nonblocking(false).is_ok() {
                self.on_connection(stream.into());
            }
        }
    }

    /// Starts and stops accepting, and starts again what the kernel has ended (T4: whatever the reason).
    pub(super) fn on_gate(&mut self) {
        let open = self.conns.len() + self.surplus.len();
        let change = self.gate.update(self.local.now_ns, open);
        let connections = &mut self.local.tally.connections;
        match change {
            Some(Change::Full) => connections.full += 1,
            Some(Change::Refused) => {
                connections.accept_refused += 1;
                self.refused.say(self.local.now_ns, OUT_OF_DESCRIPTORS);
            }
            Some(Change::Accept | Change::Shut) | None => {}
        }
        let open = self.gate.is_open(open);
        for (index, listening) in self.listeners.iter_mut().enumerate() {
            let Some(listening) = listening else { continue };
            let key = Key::new(LISTENERS + index as u32, 0);
            if open && !listening.armed {
                self.ring.accept(key, listening.socket.as_raw_fd());
                (listening.armed, listening.stopping) = (true, false);
            } else if !open && listening.armed && !listening.stopping {
                self.ring.cancel(key, Op::Accept);
                listening.stopping = true;
            }
        }
    }
}
