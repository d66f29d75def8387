//! Nothing is allocated per request once a run is warm: a run twenty times as long allocates no more.

use std::alloc::System;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use ringshot_client::{Config, Limit, run};
use ringshot_host::stop::Stop;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PIPELINE: u32 = 8;
/// Length of the client's request; learnt from its report before anything is counted.
static REQUEST_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Answers by counting bytes, without allocating.
fn answer(mut stream: TcpStream) {
    let mut buf = [0; 4096];
    let mut pending = 0;
    let _ = stream.set_nodelay(true);
    while let Ok(n @ 1..) = stream.read(&mut buf) {
        let request = REQUEST_BYTES.load(Ordering::SeqCst).min(buf[..n].len());
        pending += n;
        while pending >= request {
            pending -= request;
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    }
}

fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    addr
}

/// Allocations, growths included, of a run of `requests`.
fn allocations(addr: SocketAddr, requests: u64, pipeline: u32) -> usize {
    let region = Region::new(ALLOCATOR);
    let mut config = Config::new(&format!("http://{addr}/")).expect("valid");
    (config.connections, config.threads, config.pipeline) = (4, Some(1), pipeline);
    config.limit = Limit::Requests(requests);
    let report = run(config, Stop::new()).expect("runs");
    assert_eq!(report.requests.completed, requests, "{:?}", report.reasons);
    REQUEST_BYTES.store(report.settings.request_bytes, Ordering::SeqCst);
    let change = region.change();
    change.allocations + change.reallocations
}

#[test]
fn a_longer_run_allocates_no_more_than_a_short_one() {
    let addr = server();
    // Without pipelining each read of the server is one request, whose length it need not know yet.
    allocations(addr, 4, 1);
    let short = allocations(addr, 1_000, PIPELINE);
    let long = allocations(addr, 20_000, PIPELINE);
    assert!(short > 0, "the allocator counts");
    // A run that lasts longer meets more ticks and other latencies; neither may take memory, but the start of a thread
    // and of the server's side varies by a few.
    assert!(long.abs_diff(short) < 50, "{short} allocations for 1,000 requests, {long} for 20,000");
}
