//! Reports for people: a label at the left, its text at the right, wrapped to the width of a terminal.

use std::fmt;

/// Lines under one label column. Prints without trailing spaces.
#[derive(Clone, Debug)]
pub struct Page {
    columns: usize,
    label_columns: usize,
    text: String,
}

impl Page {
    /// An empty page of `columns`, of which the first `label_columns` (fewer) are for labels.
    #[must_use]
    pub fn new(columns: usize, label_columns: usize) -> Self {
        Self { columns, label_columns, text: String::new() }
    }

    /// A label and its text. What doesn't fit goes on below, indented; a word longer than a line is cut.
    pub fn row(&mut self, label: &str, text: &str) -> &mut Self {
        let label_columns = self.label_columns;
        let mut line = format!("{label:label_columns$}");
        let mut is_fresh = true;
        for word in self.words(text) {
            let gap = usize::from(!is_fresh);
            if line.chars().count() + gap + word.chars().count() > self.columns {
                self.line(&line);
                line = " ".repeat(label_columns);
            } else if !is_fresh {
                line.push(' ');
            }
            line.push_str(&word);
            is_fresh = false;
        }
        self.line(&line)
    }

    /// A label and lines that keep their shape, such as those of a table. They aren't wrapped.
    pub fn block(&mut self, label: &str, lines: &str) -> &mut Self {
        let label_columns = self.label_columns;
        for (i, line) in lines.lines().enumerate() {
            let label = if i == 0 { label } else { "" };
            self.line(&format!("{label:label_columns$}{line}"));
        }
        self
    }

    /// A line as it is.
    pub fn line(&mut self, line: &str) -> &mut Self {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
        self
    }

    /// Words of a text, those cut that are longer than a line.
    fn words(&self, text: &str) -> Vec<String> {
        let room = self.columns.saturating_sub(self.label_columns).max(1);
        let cut = |word: &str| {
            let chars: Vec<char> = word.chars().collect();
            chars.chunks(room).map(|part| part.iter().collect()).collect::<Vec<String>>()
        };
        text.split(' ').flat_map(cut).collect()
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_goes_on_below_its_column() {
        let mut page = Page::new(20, 8);
        page.row("Rate", "one two three four").line("").row("Machine", "supercalifragilistic").row("Empty", "");
        assert_eq!(
            page.to_string(),
            "Rate    one two\n        three four\n\nMachine supercalifra\n        gilistic\nEmpty\n"
        );
    }

    #[test]
    fn blocks_keep_their_shape() {
        let mut page = Page::new(12, 4);
        page.block("Ms", "p50   p99\n  1     2\n");
        assert_eq!(page.to_string(), "Ms  p50   p99\n      1     2\n");
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        let mut page = Page::new(30, 10);
        page.row("Label", "a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh iiiiiiiii jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj");
        assert!(page.to_string().lines().all(|line| line.chars().count() <= 30), "{page}");
    }
}
