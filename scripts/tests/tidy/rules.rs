//! The rules. Each finding is one line: where, what, and what instead.

use crate::source::{Source, has_word};

/// Every rule for a source file.
pub(crate) const ALL: [fn(&Source<'_>) -> Vec<String>; 8] = [
    unsafe_code_is_boxed,
    roots_forbid_unsafe,
    nothing_is_left_undone,
    functions_are_short,
    files_are_short,
    lines_are_short,
    protocol_reads_no_clock,
    engines_have_no_dyn,
];

/// The beginnings of the paths at which unsafe code may stand.
pub(crate) const MAY_BE_UNSAFE: [&str; 4] =
    ["shared/uring/src/ring", "shared/uring/src/bufring", "shared/host/src/sys", "shared/http1/src/scan"];

const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 400;
const LINE_COLUMNS: usize = 140;
const ARCHITECTURE_LINES: usize = 150;

fn unsafe_code_is_boxed(source: &Source<'_>) -> Vec<String> {
    if MAY_BE_UNSAFE.iter().any(|path| source.path.starts_with(path)) {
        return Vec::new();
    }
    unsafe_code_of(source)
}

/// Every line with unsafe code.
pub(crate) fn unsafe_code_of(source: &Source<'_>) -> Vec<String> {
    let lines = source.code_lines().filter(|(_, line)| has_word(line, "unsafe"));
    lines.map(|(line, _)| at(source, line, "unsafe code belongs into the files that ARCHITECTURE.md names")).collect()
}

/// A crate with a file of unsafe code denies it at its root and allows it there; all others can't even allow it.
fn roots_forbid_unsafe(source: &Source<'_>) -> Vec<String> {
    let root = source.path.strip_suffix("src/lib.rs").or(source.path.strip_suffix("src/main.rs"));
    let Some(package) = root else { return Vec::new() };
    let has_box = MAY_BE_UNSAFE.iter().any(|path| path.starts_with(package));
    let is_said = |word: &str| source.code.contains(&format!("#![{word}(unsafe_code)]"));
    if is_said("forbid") || has_box && is_said("deny") {
        return Vec::new();
    }
    vec![at(source, 1, "a crate root says #![forbid(unsafe_code)]; deny will do where a file may be unsafe")]
}

fn nothing_is_left_undone(source: &Source<'_>) -> Vec<String> {
    // In two parts, or this file would find itself.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = ["todo!", "unimplemented!"];
    let lines = source.text.lines().zip(source.code_lines());
    let undone = lines.filter(|(text, (_, code))| {
        words.iter().any(|word| has_word(text, word)) || macros.iter().any(|name| code.contains(name))
    });
    undone.map(|(_, (line, _))| at(source, line, "finish it, or write it down where work is planned")).collect()
}

fn functions_are_short(source: &Source<'_>) -> Vec<String> {
    let long = functions(&source.code).into_iter().filter(|&(_, lines)| lines > FUNCTION_LINES);
    long.map(|(line, lines)| at(source, line, &format!("a function of {lines} lines; {FUNCTION_LINES} are the most")))
        .collect()
}

/// First line and number of lines of each function with a body.
fn functions(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut announced = None;
    let mut depth = 0;
    for (i, line) in code.lines().enumerate() {
        for (column, c) in line.char_indices() {
            if line[column..].starts_with("fn ") && has_word(&line[..column + 2], "fn") {
                announced = Some((i + 1, depth));
            }
            match c {
                '{' => {
                    depth += 1;
                    open.extend(announced.take().map(|(start, _)| (start, depth)));
                }
                '}' => {
                    if let Some((start, _)) = open.pop_if(|(_, body)| *body == depth) {
                        found.push((start, i + 2 - start));
                    }
                    depth -= 1;
                }
                // A declaration without a body, unless the `;` stands within brackets: `[u8; 4]`.
                ';' if announced.is_some() && line.trim_end().ends_with(';') && column + 1 == line.trim_end().len() => {
                    announced = None;
                }
                _ => {}
            }
        }
    }
    found
}

fn files_are_short(source: &Source<'_>) -> Vec<String> {
    let lines = source.lines_before_tests();
    if lines <= FILE_LINES {
        return Vec::new();
    }
    vec![at(source, FILE_LINES + 1, &format!("{lines} lines before the tests; {FILE_LINES} are the most"))]
}

fn lines_are_short(source: &Source<'_>) -> Vec<String> {
    let long = source.text.lines().zip(1..).filter(|(text, _)| text.chars().count() > LINE_COLUMNS);
    long.map(|(_, line)| at(source, line, &format!("more than {LINE_COLUMNS} columns"))).collect()
}

/// The codec and the sessions take time as a parameter, or a test could not replay them.
fn protocol_reads_no_clock(source: &Source<'_>) -> Vec<String> {
    let is_session = source.path.ends_with("/src/session.rs") || source.path.contains("/src/session/");
    if !source.path.starts_with("shared/http1/src/") && !is_session {
        return Vec::new();
    }
    let clocks = ["Instant", "SystemTime", "clock", "clock_gettime", "monotonic_ns", "unix_secs"];
    let lines = source.code_lines().take(source.lines_before_tests());
    let found = lines.filter(|(_, line)| clocks.iter().any(|clock| has_word(line, clock)));
    found.map(|(line, _)| at(source, line, "no clock here: take the time as a parameter")).collect()
}

fn engines_have_no_dyn(source: &Source<'_>) -> Vec<String> {
    let is_engine = ["server/src/engine", "client/src/engine"].iter().any(|dir| source.path.starts_with(dir));
    if !is_engine {
        return Vec::new();
    }
    let lines = source.code_lines().take(source.lines_before_tests()).filter(|(_, line)| has_word(line, "dyn"));
    lines.map(|(line, _)| at(source, line, "an engine is chosen once a thread, not once a call: no dyn")).collect()
}

/// Every package takes the lints of the workspace.
pub(crate) fn manifest(path: &str, text: &str) -> Vec<String> {
    let is_package = path.ends_with("Cargo.toml") && text.lines().any(|line| line == "[package]");
    let has_lints = text.lines().skip_while(|line| *line != "[lints]").any(|line| line == "workspace = true");
    if !is_package || has_lints { Vec::new() } else { vec![format!("{path}: [lints] workspace = true is missing")] }
}

/// The page that shows newcomers around is short, and every path and test that it names is there. `read` returns the text of a
/// file, an empty one for a folder.
pub(crate) fn architecture(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > ARCHITECTURE_LINES {
        findings.push(format!("ARCHITECTURE.md: {lines} lines; {ARCHITECTURE_LINES} are the most"));
    }
    for name in text.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && !name.contains(' ')) {
        let (path, test) = name.split_once("::").map_or((name, None), |(path, test)| (path, Some(test)));
        let is_there = read(path).is_some_and(|file| test.is_none_or(|test| file.contains(&format!("fn {test}("))));
        if !is_there {
            findings.push(format!("ARCHITECTURE.md: there is no {name}"));
        }
    }
    findings
}

fn at(source: &Source<'_>, line: usize, what: &str) -> String {
    format!("{}:{line}: {what}", source.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines at which `rule` finds something.
    fn found(rule: fn(&Source<'_>) -> Vec<String>, path: &str, text: &str) -> Vec<usize> {
        let line = |finding: String| finding.split(':').nth(1).unwrap().parse().unwrap();
        rule(&Source::new(path, text)).into_iter().map(line).collect()
    }

    #[test]
    fn unsafe_is_found_where_it_may_not_be() {
        let text = "// unsafe\nunsafe { f() }\nlet a = \"unsafe\";\n#![forbid(unsafe_code)]\n";
        assert_eq!(found(unsafe_code_is_boxed, "server/src/conn.rs", text), [2]);
        assert_eq!(found(unsafe_code_is_boxed, "shared/uring/src/slots.rs", text), [2]);
        for path in ["shared/uring/src/ring.rs", "shared/host/src/sys.rs", "shared/http1/src/scan/avx2.rs"] {
            assert_eq!(found(unsafe_code_is_boxed, path, text), [0; 0], "{path}");
        }
    }

    #[test]
    fn roots_without_the_ban_are_found() {
        assert_eq!(found(roots_forbid_unsafe, "server/src/lib.rs", "//! #![forbid(unsafe_code)]\n"), [1]);
        assert_eq!(found(roots_forbid_unsafe, "server/src/lib.rs", "#![forbid(unsafe_code)]\n"), [0; 0]);
        assert_eq!(found(roots_forbid_unsafe, "server/src/app.rs", ""), [0; 0]);
        assert_eq!(found(roots_forbid_unsafe, "shared/stats/src/lib.rs", ""), [1]);
        assert_eq!(found(roots_forbid_unsafe, "shared/stats/src/lib.rs", "#![deny(unsafe_code)]\n"), [1]);
        assert_eq!(found(roots_forbid_unsafe, "shared/uring/src/lib.rs", "#![deny(unsafe_code)]\n"), [0; 0]);
        assert_eq!(found(roots_forbid_unsafe, "shared/uring/src/lib.rs", ""), [1]);
    }

    #[test]
    fn leftovers_are_found() {
        let text =
            format!("// {}: later\nfn f() {{ todo!() }}\n// no todo! here\nlet mastodon = 1;\n", concat!("TO", "DO"));
        assert_eq!(found(nothing_is_left_undone, "a.rs", &text), [1, 2]);
    }

    #[test]
    fn long_functions_are_found_by_their_first_line() {
        let body = "    g();\n".repeat(69);
        let long = format!("\nfn f() {{\n{body}}}\n");
        assert_eq!(found(functions_are_short, "a.rs", &long), [2]);
        let short = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(68));
        assert_eq!(found(functions_are_short, "a.rs", &short), [0; 0]);
    }

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let text = "trait T {\n    fn a(b: [u8; 2]);\n    fn c(\n        d: u8,\n    ) {\n        if x { y }\n    }\n}\nfn e() {}\n";
        assert_eq!(functions(text), [(3, 5), (9, 1)]);
        let nested = "fn a() {\n    fn b() {\n    }\n    let c: fn () = b;\n}\n";
        assert_eq!(functions(nested), [(2, 2), (1, 5)]);
    }

    #[test]
    fn long_files_are_found() {
        let lines = |n: usize| "a\n".repeat(n);
        assert_eq!(found(files_are_short, "a.rs", &lines(401)), [401]);
        assert_eq!(found(files_are_short, "a.rs", &format!("{}#[cfg(test)]\n{}", lines(400), lines(100))), [0; 0]);
        assert_eq!(found(files_are_short, "shared/a/tests/b.rs", &lines(401)), [0; 0]);
    }

    #[test]
    fn long_lines_are_found() {
        assert_eq!(found(lines_are_short, "a.rs", &format!("{}\n{}\n", "é".repeat(140), "b".repeat(141))), [2]);
    }

    #[test]
    fn clocks_are_found_in_the_protocol() {
        let text = "// Instant::now\nlet a = Instant::now();\nclock::unix_secs();\n#[cfg(test)]\nInstant::now();\n";
        for path in ["shared/http1/src/body.rs", "server/src/session.rs", "client/src/session/read.rs"] {
            assert_eq!(found(protocol_reads_no_clock, path, text), [2, 3], "{path}");
        }
        assert_eq!(found(protocol_reads_no_clock, "server/src/worker.rs", text), [0; 0]);
    }

    #[test]
    fn dyn_is_found_in_engines() {
        let text = "fn a(b: &dyn C) {}\n#[cfg(test)]\nfn d(e: &dyn F) {}\n";
        assert_eq!(found(engines_have_no_dyn, "server/src/engine/uring.rs", text), [1]);
        assert_eq!(found(engines_have_no_dyn, "client/src/engine/mod.rs", text), [1]);
        assert_eq!(found(engines_have_no_dyn, "client/src/main.rs", text), [0; 0]);
    }

    #[test]
    fn manifests_without_lints_are_found() {
        assert_eq!(manifest("a/Cargo.toml", "[package]\nname = \"a\"\n").len(), 1);
        assert!(manifest("a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n").is_empty());
        assert!(manifest("Cargo.toml", "[workspace]\n").is_empty());
    }

    #[test]
    fn names_of_nothing_are_found() {
        let read = |path: &str| (path == "a/b.rs").then(|| "fn c() {}".to_owned());
        assert!(architecture("`a/b.rs` and `a/b.rs::c`, `plain`, `cargo test a/d`", read).is_empty());
        assert_eq!(architecture("`a/b.rs::d` and `a/e`", read).len(), 2);
        assert_eq!(architecture(&"line\n".repeat(151), read).len(), 1);
    }
}
