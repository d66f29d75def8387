//! The command lines as a person meets them: help that teaches, options that are refused, settings that can be printed.

use std::process::Command;

use ringshot_e2e::failure::Outcome;
use ringshot_e2e::programs::{Server, engines, program, run};
use ringshot_e2e::raw::Raw;
use ringshot_e2e::scratch::Scratch;
use ringshot_e2e::{ensure, fail};

const PROGRAMS: [&str; 3] = ["ringshot-server", "ringshot-client", "ringshot-lab"];

#[test]
fn help_teaches_and_fits_the_screen() -> Outcome {
    const TAUGHT: &[(&str, &[&str])] = &[
        (
            "ringshot-server",
            &[
                "--listen",
                "--workers",
                "--cpus",
                "--steer",
                "--wait",
                "--body",
                "--body-file",
                "--header",
                "--print-config",
                "--config",
                "127.0.0.1:8080",
                "hash",
                "adaptive",
            ],
        ),
        (
            "ringshot-client",
            &[
                "-c",
                "-t",
                "-d",
                "-n",
                "-p",
                "-H",
                "-m",
                "--body",
                "--body-file",
                "--timeout",
                "--no-keepalive",
                "--cpus",
                "--wait",
                "--format",
                "json",
                "http://",
            ],
        ),
        ("ringshot-lab", &["pair"]),
    ];
    for (name, words) in TAUGHT {
        let help = run(Command::new(program(name)).arg("--help"))?;
        for word in *words {
            ensure!(help.contains(word), "{name} --help does not mention {word}:\n{help}");
        }
        let short = run(Command::new(program(name)).arg("-h"))?;
        ensure!(short.lines().count() <= help.lines().count(), "{name} -h is longer than --help");
    }
    Ok(())
}

#[test]
fn every_program_says_its_version() -> Outcome {
    for name in PROGRAMS {
        let version = run(Command::new(program(name)).arg("--version"))?;
        ensure!(version.starts_with(name) && version.lines().count() == 1, "{name} --version: {version:?}");
    }
    Ok(())
}

#[test]
fn unknown_options_are_refused_with_status_2() -> Outcome {
    for name in PROGRAMS {
        let output = Command::new(program(name)).arg("--no-such-option").output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{name} ended with {}", output.status);
        ensure!(errors.contains("--no-such-option"), "{name} does not name the option: {errors}");
        ensure!(output.stdout.is_empty(), "{name} wrote its refusal to standard output");
    }
    Ok(())
}

#[test]
fn a_printed_configuration_is_the_same_configuration() -> Outcome {
    const RUNS: &[&[&str]] = &[
        &[],
        &["--listen", "127.0.0.1:8081", "--listen", "[::1]:8082", "--workers", "2", "--wait", "adaptive"],
        &["--body", "say \"hi\"\tto \u{fc}", "--header", "X-One: 1", "--header", "Server: other", "--steer", "cpu"],
        &["--idle-timeout", "90s", "--max-body", "64KiB", "--max-connections", "100"],
    ];
    let scratch = Scratch::new("config")?;
    for args in RUNS {
        let printed = print_config(args)?;
        let file = scratch.file("printed.toml", &printed)?;
        let Some(file) = file.to_str() else { return fail!("{} is not text", file.display()) };
        let again = print_config(&["--config", file])?;
        ensure!(printed == again, "{args:?} changed from\n{printed}\nto\n{again}");
    }
    Ok(())
}

fn print_config(args: &[&str]) -> Outcome<String> {
    run(Command::new(program("ringshot-server")).args(args).arg("--print-config"))
}

#[test]
fn a_config_file_serves_its_routes_and_flags_win_over_it() -> Outcome {
    const FILE: &str = "workers = 1\n[limits]\nmax_body = \"4\"\n\
                        [[route]]\npath = \"/a\"\nbody = \"from the file\"\nheaders = [\"X-From: file\"]\n";
    let scratch = Scratch::new("routes")?;
    let file = scratch.file("server.toml", FILE)?;
    let Some(file) = file.to_str() else { return fail!("{} is not text", file.display()) };
    for engine in engines() {
        let server = Server::start(engine, &["--config", file, "--body", "from the flag"])?;
        let mut raw = Raw::connect(server.addr())?;
        let answer = raw.ask("GET /a HTTP/1.1\r\nHost: t\r\n\r\n")?;
        ensure!(answer.body == b"from the file" && answer.field("x-from") == Some("file"), "/a: {answer:?}");
        let answer = raw.ask("GET / HTTP/1.1\r\nHost: t\r\n\r\n")?;
        ensure!(answer.body == b"from the flag", "/: {answer:?}");
        let answer = raw.ask("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello")?;
        ensure!(answer.status == 413, "/echo beyond the limit of the file: {answer:?}");
        server.stop()?;
    }
    Ok(())
}
