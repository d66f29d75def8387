//! The load tool against other people's server, against ours, and against servers that misbehave: every request
//! that it starts ends in one class, and the classes tell what happened.

use std::net::{Ipv4Addr, TcpListener};

use ringshot_e2e::ensure;
use ringshot_e2e::failure::Outcome;
use ringshot_e2e::peers::{Nginx, free_port};
use ringshot_e2e::programs::{each_engine, scaled};
use ringshot_e2e::report::Report;
use ringshot_e2e::scripted::{Script, play};

#[test]
fn completed_requests_are_those_in_the_log_of_nginx() -> Outcome {
    // The second nginx ends each connection after 50 requests, which costs connections but no request.
    for (keepalive_requests, requests) in [(1_000_000, scaled(100_000)), (50, scaled(20_000))] {
        let Some(nginx) = Nginx::start(keepalive_requests)? else { return Ok(()) };
        let url = format!("http://{}/", nginx.addr());
        let report = Report::of(&["-c", "200", "-n", &requests.to_string(), &url])?;
        let logged = nginx.logged_requests()?;
        ensure!(report.completed() == requests as u64, "{requests} asked for: {report:?}");
        ensure!(report.status(200) == requests as u64, "not all are 200: {report:?}");
        ensure!(logged == requests, "nginx has {logged} of {requests} requests in its log: {report:?}");
        ensure!(report.code == 0, "exit status {}: {report:?}", report.code);
    }
    Ok(())
}

#[test]
fn exactly_the_asked_requests_on_exactly_the_asked_connections() -> Outcome {
    const RUNS: &[(&[&str], u64, u64)] = &[
        (&["-c", "1", "-n", "1"], 1, 1),
        (&["-c", "7", "-n", "1000"], 7, 1000),
        (&["-c", "64", "-n", "50001", "-p", "16"], 64, 50_001),
        (&["-c", "10", "-n", "300", "--no-keepalive"], 300, 300),
        (&["-c", "3", "-t", "1", "-n", "999", "-m", "HEAD"], 3, 999),
    ];
    each_engine(&[], |server| {
        let url = format!("http://{}/?a=1&b=2", server.addr());
        for (args, connections, requests) in RUNS {
            let report = Report::of(&[*args, &[&url]].concat())?;
            let counts = (report.status(200), report.number("/connections/established"));
            ensure!(counts == (*requests, *connections), "{args:?}: {counts:?} in {report:?}");
            ensure!(report.code == 0, "{args:?}: exit status {}", report.code);
        }
        let echo = format!("http://{}/echo", server.addr());
        let report = Report::of(&["-c", "4", "-n", "400", "--body", "0123456789", &echo])?;
        let counts = (report.status(200), report.number("/transfer/body_bytes"));
        ensure!(counts == (400, 4000), "echoed bodies: {counts:?} in {report:?}");
        Ok(())
    })
}

#[test]
fn refusals_are_failures_of_the_run() -> Outcome {
    each_engine(&[], |server| {
        let report = Report::of(&["-c", "4", "-n", "100", &format!("http://{}/missing", server.addr())])?;
        let counts = (report.class("completed4xx"), report.code);
        ensure!(counts == (100, 1), "404s: {counts:?} in {report:?}");
        Ok(())
    })
}

#[test]
fn a_server_that_is_not_there_is_reported() -> Outcome {
    let report = Report::of(&["-c", "2", "-n", "10", &format!("http://127.0.0.1:{}/", free_port()?)])?;
    ensure!(report.completed() == 0 && report.class("connect") > 0, "nothing listens: {report:?}");
    ensure!(report.code == 4, "exit status {}: {report:?}", report.code);
    Ok(())
}

#[test]
fn a_server_that_hangs_is_reported() -> Outcome {
    // The kernel accepts; nobody ever answers.
    let deaf = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let url = format!("http://{}/", deaf.local_addr()?);
    let report = Report::of(&["-c", "2", "-n", "4", "--timeout", "200ms", &url])?;
    ensure!(report.class("timeout") > 0 && report.completed() == 0, "nobody answers: {report:?}");
    ensure!(report.code == 4, "exit status {}: {report:?}", report.code);
    let report = Report::of(&["-c", "2", "-d", "300ms", "--timeout", "5s", &url])?;
    ensure!(report.class("cancelled") == 2 && report.completed() == 0, "nobody answers: {report:?}");
    ensure!(report.code == 4, "exit status {}: {report:?}", report.code);
    Ok(())
}

#[test]
fn a_server_that_talks_nonsense_is_reported() -> Outcome {
    let script = Script { after_requests: 1, parts: vec![b"220 mail.example ESMTP\r\n".to_vec()], eof: false };
    let (report, _) = play(&script, |addr| Report::of(&["-c", "1", "-n", "5", &format!("http://{addr}/")]))?;
    let report = report?;
    let counts = (report.class("protocol"), report.class("completed2xx"), report.code);
    ensure!(counts == (1, 4, 1), "{counts:?} in {report:?}");
    Ok(())
}
