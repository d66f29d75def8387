//! HTTP/1.1 load tool that knows when it is the bottleneck.
