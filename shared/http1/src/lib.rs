//! Zero-copy HTTP/1.1 codec: request and response heads, body framing, encoders.
