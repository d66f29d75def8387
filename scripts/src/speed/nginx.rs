//! nginx as the write-ups of keep-alive hello-world set it up: a static file of 11 bytes, no access log.

use std::fmt::Write as _;
use std::process::Command;

use super::peer::{Server, free_addr, pinned};
use crate::error::LabError;

/// Starts nginx with `workers`, on the CPUs of `cpus` (all when empty).
pub(super) fn start(workers: usize, cpus: &str) -> Result<Server, LabError> {
    let addr = free_addr()?;
    let dir = tempfile::tempdir().map_err(LabError::system("write the configuration of nginx"))?;
    let root = dir.path().join("root");
    std::fs::create_dir(&root).map_err(LabError::system("write the configuration of nginx"))?;
    std::fs::write(root.join("index.html"), "hello world")
        .map_err(LabError::system("write the configuration of nginx"))?;
    let path = dir.path().join("nginx.conf");
    std::fs::write(&path, config(workers, addr.port(), &dir.path().to_string_lossy()))
        .map_err(LabError::system("write the configuration of nginx"))?;
    let mut command: Command = pinned(cpus, "nginx");
    command.arg("-p").arg(dir.path()).arg("-c").arg(&path);
    Server::start(command, addr, Some(dir))
}

/// sendfile is off because nginx is faster without it here: for a file of 11 bytes it costs a call of its own, and with
/// tcp_nopush pipelined answers wait for timers (24 k/s instead of 160 k/s at 16 deep). keepalive_requests and
/// worker_connections are raised so that no connection is closed in the middle of a slice.
fn config(workers: usize, port: u16, dir: &str) -> String {
    let mut text = String::new();
    let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
    let _ = write!(
        text,
        "daemon off;\nmaster_process on;\n{user}worker_processes {workers};\npid {dir}/nginx.pid;\nerror_log /dev/null;\n\
         events {{ worker_connections 10240; multi_accept on; }}\n\
         http {{\n  access_log off;\n  sendfile off;\n  tcp_nodelay on;\n  open_file_cache max=100;\n\
         \x20 keepalive_requests 1000000000;\n  keepalive_timeout 600s;\n  default_type text/plain;\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "  {kind}_temp_path {dir}/{kind};");
    }
    let _ = write!(
        text,
        "  server {{ listen 127.0.0.1:{port} backlog=4096; root {dir}/root; location / {{ index index.html; }} }}\n}}\n"
    );
    text
}
