//! Columns of text that line up.

use std::fmt;

/// How a column lines up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Figures.
    Right,
}

/// Rows under a common grid. Prints without trailing spaces, two spaces between columns, one line per row.
#[derive(Clone, Debug)]
pub struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// A table with a column per entry.
    #[must_use]
    pub fn new(aligns: &[Align]) -> Self {
        Self { aligns: aligns.to_vec(), rows: Vec::new(), indent: 0 }
    }

    /// Moves every row to the right by so many spaces.
    #[must_use]
    pub fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row. Missing cells are empty; more cells than columns line up left.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        (0..columns).map(|column| width(column).unwrap_or(0)).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (column, cell) in row.iter().enumerate() {
                let (width, gap) = (widths[column], if column == 0 { "" } else { "  " });
                line.push_str(gap);
                line.push_str(&match self.aligns.get(column).unwrap_or(&Align::Left) {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]).indented(2);
        table.row(["", "p50", "note"]).row(["server", "18.4 us", ""]).row(["c", "9 us", "café"]).row(["short"]);
        assert_eq!(table.to_string(), "              p50  note\n  server  18.4 us\n  c          9 us  café\n  short\n");
    }

    #[test]
    fn nothing_prints_nothing() {
        assert_eq!(Table::new(&[Align::Left]).to_string(), "");
    }

    #[test]
    fn surplus_cells_line_up_left() {
        let mut table = Table::new(&[Align::Right]);
        table.row(["1", "a"]).row(["10", "bb"]);
        assert_eq!(table.to_string(), " 1  a\n10  bb\n");
    }
}
