//! A file, and its code without comments and literals.

/// A source file as the rules see it.
pub(crate) struct Source<'a> {
    /// From the root of the workspace, with `/`.
    pub(crate) path: &'a str,
    /// As it is.
    pub(crate) text: &'a str,
    /// The same with blanks for comments and the insides of literals; lines and columns are where they were.
    pub(crate) code: String,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        Self { path, text, code: blank(text) }
    }

    /// Number (from 1) and code of each line.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    /// How many lines come before the tests of this file. Files in folders of tests are nothing but tests.
    pub(crate) fn lines_before_tests(&self) -> usize {
        if self.path.contains("/tests/") || self.path.ends_with("/tests.rs") {
            return 0;
        }
        self.code.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count()
    }
}

/// Whether `line` has `word` between characters that belong to no name.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

/// Where the cursor of [`blank`] is.
enum State {
    Code,
    LineComment,
    /// Nested this deep.
    BlockComment(usize),
    Text,
    /// Ends with a quote and this many `#`.
    RawText(usize),
    Char,
}

/// Replaces comments and the insides of literals by blanks.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut state = State::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next, length, is_code) = step(&state, &chars, at);
        for &c in &chars[at..(at + length).min(chars.len())] {
            out.push(if is_code || c == '\n' { c } else { ' ' });
        }
        at += length;
        state = next;
    }
    out
}

/// The state after the token at `at`, its length, and whether it is code.
fn step(state: &State, chars: &[char], at: usize) -> (State, usize, bool) {
    let is_at = |token: &str| token.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    match *state {
        State::Code => step_code(chars, at, is_at),
        State::LineComment if chars[at] == '\n' => (State::Code, 1, true),
        State::LineComment => (State::LineComment, 1, false),
        State::BlockComment(depth) if is_at("/*") => (State::BlockComment(depth + 1), 2, false),
        State::BlockComment(1) if is_at("*/") => (State::Code, 2, false),
        State::BlockComment(depth) if is_at("*/") => (State::BlockComment(depth - 1), 2, false),
        State::BlockComment(depth) => (State::BlockComment(depth), 1, false),
        State::Text if is_at("\\") => (State::Text, 2, false),
        State::Text if is_at("\"") => (State::Code, 1, true),
        State::Text => (State::Text, 1, false),
        State::RawText(hashes) if is_at(&format!("\"{}", "#".repeat(hashes))) => (State::Code, 1 + hashes, true),
        State::RawText(hashes) => (State::RawText(hashes), 1, false),
        State::Char if is_at("\\") => (State::Char, 2, false),
        State::Char if is_at("'") => (State::Code, 1, true),
        State::Char => (State::Char, 1, false),
    }
}

fn step_code(chars: &[char], at: usize, is_at: impl Fn(&str) -> bool) -> (State, usize, bool) {
    if is_at("//") {
        return (State::LineComment, 2, false);
    }
    if is_at("/*") {
        return (State::BlockComment(1), 2, false);
    }
    if is_at("\"") {
        return (State::Text, 1, true);
    }
    // A lifetime has no second quote behind its first character; `'\''` and the like begin with a backslash.
    if is_at("'") && (chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')) {
        return (State::Char, 1, true);
    }
    let is_in_name = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let prefix = usize::from(is_at("r")) + 2 * usize::from(is_at("br"));
    if prefix > 0 && !is_in_name {
        let hashes = chars[at + prefix..].iter().take_while(|&&c| c == '#').count();
        if chars.get(at + prefix + hashes) == Some(&'"') {
            return (State::RawText(hashes), prefix + hashes + 1, true);
        }
    }
    (State::Code, 1, true)
}

#[test]
fn comments_and_literals_are_blank() {
    let table = [
        ("let a = 1; // unsafe", "let a = 1;          "),
        ("/* a /* b */ c */ d", "                  d"),
        ("\"a\\\"b\" c", "\"    \" c"),
        ("r#\"a\"b\"# c", "r#\"   \"# c"),
        ("br\"\\\" c", "br\" \" c"),
        ("'\"' \"x\"", "' ' \" \""),
        ("'\\'' b", "'  ' b"),
        ("fn a<'b>(c: &'b str)", "fn a<'b>(c: &'b str)"),
        ("var\"x\"", "var\" \""),
        ("// a\nb", "    \nb"),
    ];
    for (text, code) in table {
        assert_eq!(Source::new("", text).code, code, "{text}");
    }
}

#[test]
fn words_are_whole() {
    assert!(has_word("unsafe {", "unsafe") && has_word("(unsafe)", "unsafe"));
    assert!(!has_word("forbid(unsafe_code)", "unsafe") && !has_word("is_unsafe", "unsafe"));
}
