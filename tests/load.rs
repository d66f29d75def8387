//! The load tools that people use, against our server: nothing may fail, and every count must be the asked one.

use ringshot_e2e::failure::{Outcome, shown};
use ringshot_e2e::peers::peer;
use ringshot_e2e::programs::{each_engine, run, scaled};
use ringshot_e2e::{ensure, fail};

#[test]
fn ab_with_keep_alive() -> Outcome {
    let Some(_) = peer("ab")? else { return Ok(()) };
    let requests = scaled(100_000);
    let report = ab(&["-k", "-c", "1000"], requests)?;
    for report in report {
        // Of 1,000 connections that ab opens, each request is kept alive; ab counts only answers that say so.
        ensure!(number(&report, "Keep-Alive requests:")? == requests, "not all kept alive:\n{report}");
    }
    Ok(())
}

#[test]
fn ab_without_keep_alive() -> Outcome {
    ab(&["-c", "100"], scaled(20_000)).map(drop)
}

/// Runs `ab` against every engine and checks what holds for all of its runs.
fn ab(args: &[&str], requests: usize) -> Outcome<Vec<String>> {
    let reports = std::cell::RefCell::new(Vec::new());
    each_engine(&[], |server| {
        let Some(mut ab) = peer("ab")? else { return Ok(()) };
        let report = run(ab.args(args).args(["-n", &requests.to_string()]).arg(format!("http://{}/", server.addr())))?;
        ensure!(number(&report, "Complete requests:")? == requests, "not all complete:\n{report}");
        ensure!(number(&report, "Failed requests:")? == 0, "failed requests:\n{report}");
        ensure!(number(&report, "Document Length:")? == "hello world".len(), "wrong length:\n{report}");
        ensure!(!report.contains("Non-2xx responses:"), "refused requests:\n{report}");
        reports.borrow_mut().push(report);
        Ok(())
    })?;
    Ok(reports.into_inner())
}

#[test]
fn wrk_with_a_query() -> Outcome {
    each_engine(&[], |server| {
        let Some(mut wrk) = peer("wrk")? else { return Ok(()) };
        let seconds = scaled(5).max(2);
        let url = format!("http://{}/?a=1&b=2&c=111134", server.addr());
        let report = run(wrk.args(["-t12", "-c200", &format!("-d{seconds}s"), &url]))?;
        let clean = !report.contains("Socket errors") && !report.contains("Non-2xx");
        ensure!(clean && report.contains(" requests in "), "wrk reports:\n{report}");
        Ok(())
    })
}

/// The number after a label such as `Complete requests:` in a report.
fn number(report: &str, label: &str) -> Outcome<usize> {
    let line = report.lines().find_map(|line| line.strip_prefix(label));
    match line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok()) {
        Some(number) => Ok(number),
        None => fail!("no number after {label:?} in:\n{report}"),
    }
}

#[test]
fn curl_with_every_kind_of_request() -> Outcome {
    const RUNS: &[(&[&str], &str, &str)] = &[
        (&[], "/", "hello world"),
        (&["--http1.0"], "/", "hello world"),
        (&["--head"], "/", ""),
        (&["--data", "a=1&b=2"], "/echo", "a=1&b=2"),
        (&["--data", "chunked", "-H", "Transfer-Encoding: chunked"], "/echo", "chunked"),
        (&["--data", "waited", "-H", "Expect: 100-continue"], "/echo", "waited"),
        (&["--request", "PUT", "--data", "put"], "/echo", "put"),
    ];
    each_engine(&[], |server| {
        for (args, path, body) in RUNS {
            let Some(mut curl) = peer("curl")? else { return Ok(()) };
            let url = format!("http://{}{path}", server.addr());
            let output =
                run(curl.args(["--silent", "--show-error", "--fail", "--max-time", "30"]).args(*args).arg(url))?;
            let right = if args.contains(&"--head") { output.starts_with("HTTP/1.1 200") } else { output == *body };
            ensure!(right, "curl {args:?} {path} printed {}", shown(output.as_bytes()));
        }
        Ok(())
    })
}
