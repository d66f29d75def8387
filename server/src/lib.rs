//! Thread-per-core io_uring HTTP/1.1 server.
