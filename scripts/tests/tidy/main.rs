//! Rules about the source that neither the compiler nor clippy knows, held by `cargo test`.
//!
//! Each rule takes the text of one file, so that each is tested on texts of its own: a check that can't fail is none.

mod rules;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// The root of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this package lies in a folder of the workspace").to_owned()
}

/// All files below `dir` with this extension, as paths from `root`, without build output and hidden folders.
fn files(root: &Path, dir: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("a folder that is read doesn't change").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(root, &path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path.strip_prefix(root).expect("found below the root").to_owned());
        }
    }
}

fn all(extension: &str) -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    files(&root, &root, extension, &mut found);
    found.sort();
    assert!(found.len() > 8, "the workspace has more {extension} files than {found:?}");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(root.join(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.to_string_lossy().into_owned(), text)
    };
    found.into_iter().map(read).collect()
}

#[test]
fn the_source_is_tidy() {
    let mut findings = Vec::new();
    for (path, text) in all("rs") {
        let source = Source::new(&path, &text);
        findings.extend(rules::ALL.iter().flat_map(|rule| rule(&source)));
    }
    for (path, text) in all("toml") {
        findings.extend(rules::manifest(&path, &text));
    }
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn the_architecture_names_what_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let read = |path: &str| {
        let path = root().join(path);
        if path.is_dir() { Some(String::new()) } else { fs::read_to_string(path).ok() }
    };
    let findings = rules::architecture(&text, read);
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn no_exception_is_left_behind() {
    let sources = all("rs");
    for exception in rules::MAY_BE_UNSAFE {
        // The parser may have vector code or not; the others have their reason on their first page.
        let is_used = sources.iter().any(|(path, text)| {
            path.starts_with(exception) && !rules::unsafe_code_of(&Source::new("elsewhere.rs", text)).is_empty()
        });
        assert!(
            is_used || exception.ends_with("scan"),
            "{exception} has no unsafe code and needs no exception any more"
        );
    }
}
