//! End-to-end tests: the real programs against real peers.
