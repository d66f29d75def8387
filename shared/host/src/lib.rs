//! The machine: sockets, CPUs, clocks, limits and facts.
