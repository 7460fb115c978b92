//! Tables that fit into the width of the output.
//!
//! A table that is too wide changes in this order: its columns stand closer together, its text
//! wraps, its headings wrap, and at last it is printed in parts below each other. Each part begins
//! with the columns that name a row.
//!
//! What always holds: no cell is lost, and no number is broken. A part after the first leaves out
//! the rows that are empty in it.

use std::fmt;

use comfy_table::{CellAlignment, TableComponent, presets};

use crate::wrap::{broken, columns, width};

/// The columns to which text is narrowed before a table is printed in parts.
const READABLE: usize = 16;
/// The blanks between two columns where there is room, and where there is not.
const GAPS: [usize; 2] = [3, 2];

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// The number of first columns that name a row.
    keys: usize,
}

#[derive(Clone, Debug)]
struct Column {
    heading: String,
    holds: Holds,
}

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// Text, aligned to the left. It may be broken.
    Text,
    /// Numbers, aligned to the right. They are not broken.
    Numbers,
}

/// Returns a table with this header. The first column and those in `text` hold text, the others
/// numbers.
pub fn table(header: &[&str], text: &[usize]) -> Table {
    let column = |(i, heading): (usize, &&str)| Column {
        heading: (*heading).to_owned(),
        holds: if i == 0 || text.contains(&i) { Holds::Text } else { Holds::Numbers },
    };
    Table { columns: header.iter().enumerate().map(column).collect(), rows: Vec::new(), keys: 1 }
}

impl Table {
    /// Returns the table with this number of first columns that name a row, which else is one.
    pub fn keys(self, keys: usize) -> Table {
        Table { keys, ..self }
    }

    /// Adds a row. Missing cells at its end are empty.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item: Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table as text in this many columns.
    fn rendered(&self, width: usize) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|i| self.natural(i)).collect();
        for gap in GAPS {
            if taken(natural.iter().copied(), gap) <= width {
                let all: Vec<_> = natural.iter().copied().enumerate().collect();
                return self.part(&all, gap);
            }
        }
        let parts: Vec<String> = self.parts(width).iter().map(|part| self.part(part, GAPS[1])).collect();
        parts.join("\n\n")
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(column)).map(String::as_str)
    }

    /// Returns the width at which nothing of a column is broken.
    fn natural(&self, column: usize) -> usize {
        let cells = self.cells(column).map(columns).max().unwrap_or(0);
        cells.max(columns(&self.columns[column].heading))
    }

    /// Returns the smallest width at which a column can be read.
    fn least(&self, column: usize) -> usize {
        match self.columns[column].holds {
            Holds::Numbers => self.cells(column).map(columns).max().unwrap_or(0).max(in_two_lines(&self.columns[column].heading)),
            Holds::Text => self.natural(column).min(READABLE),
        }
    }

    /// Returns the parts in which the table fits into `width`: columns with their widths.
    fn parts(&self, width: usize) -> Vec<Vec<(usize, usize)>> {
        let keys: Vec<usize> = (0..self.keys.min(self.columns.len())).collect();
        let least = |part: &[usize]| taken(part.iter().map(|column| self.least(*column)), GAPS[1]);
        let mut parts = vec![keys.clone()];
        for column in keys.len()..self.columns.len() {
            let last = parts.last_mut().expect("there is a part");
            last.push(column);
            if least(last) > width && last.len() > keys.len() + 1 {
                last.pop();
                parts.push(keys.iter().copied().chain([column]).collect());
            }
        }
        parts.iter().map(|part| self.widened(part, width)).collect()
    }

    /// Returns the columns of a part with widths that use the whole `width`, where it is needed.
    fn widened(&self, part: &[usize], width: usize) -> Vec<(usize, usize)> {
        let mut all: Vec<_> = part.iter().map(|column| (*column, self.least(*column))).collect();
        let mut room = width.saturating_sub(taken(all.iter().map(|(_, width)| *width), GAPS[1]));
        let lacks = |(column, width): &(usize, usize)| self.natural(*column).saturating_sub(*width);
        // A broken heading costs a line, broken text one in each row.
        let need = |column: &(usize, usize)| (self.columns[column.0].holds == Holds::Text, lacks(column));
        while room > 0
            && let Some(most) = all.iter_mut().filter(|column| lacks(column) > 0).max_by_key(|column| need(column))
        {
            most.1 += 1;
            room -= 1;
        }
        all
    }

    fn part(&self, part: &[(usize, usize)], gap: usize) -> String {
        let mut table = comfy_table::Table::new();
        let wrapped = |text: &str, width: usize| broken(text, width.max(1), 0).join("\n");
        table.load_preset(presets::NOTHING);
        table.set_header(part.iter().map(|(column, width)| wrapped(&self.columns[*column].heading, *width)));
        for line in [TableComponent::HeaderLines, TableComponent::MiddleHeaderIntersections] {
            table.set_style(line, '─');
        }
        // Only the first part has the column behind the keys.
        let goes_on = part.iter().all(|(column, _)| *column != self.keys);
        let says = |row: &Vec<String>| {
            part.iter().any(|(column, _)| *column >= self.keys && row.get(*column).is_some_and(|cell| !cell.is_empty()))
        };
        for row in self.rows.iter().filter(|row| !goes_on || says(row)) {
            let cell = |column: usize| row.get(column).map_or("", String::as_str);
            table.add_row(part.iter().map(|(column, width)| match self.columns[*column].holds {
                Holds::Text => wrapped(cell(*column), *width),
                Holds::Numbers => cell(*column).to_owned(),
            }));
        }
        for ((column, _), set) in part.iter().zip(table.column_iter_mut()) {
            // The preset has a blank between two columns.
            set.set_padding((1, gap as u16 - 2));
            if self.columns[*column].holds == Holds::Numbers {
                set.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

/// Returns the smallest width at which a heading has two lines at most, and no broken word.
fn in_two_lines(heading: &str) -> usize {
    let word = heading.split(' ').map(columns).max().unwrap_or(0);
    (word..columns(heading)).find(|width| broken(heading, *width, 0).len() <= 2).unwrap_or(columns(heading))
}

/// Returns the width of a table whose columns have these widths.
fn taken(widths: impl Iterator<Item = usize>, gap: usize) -> usize {
    // A column has a blank before it and the rest of the gap behind it.
    widths.map(|width| width + gap).sum::<usize>().saturating_sub(1)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(width()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = table(&["entrant", "ns", "quartiles", "per second", "it gets this wrong"], &[4]);
        table.add_row(["pathwalk, each path walked", "56.8", "55.1 .. 60.2", "17,605,633", ""]);
        table.add_row(["a map of whole paths", "12.3", "12.1 .. 12.9", "81,300,813", "links, permissions and what was removed"]);
        table
    }

    fn widest(text: &str) -> usize {
        text.lines().map(columns).max().unwrap_or(0)
    }

    /// Returns the words of a text, sorted.
    fn words(text: &str) -> Vec<&str> {
        let mut words: Vec<_> = text.split_whitespace().filter(|word| !word.starts_with('─')).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    #[test]
    fn a_table_that_fits_stays_as_it_is() {
        let text = sample().rendered(1000);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(sample().rendered(widest(&text)), text);
        let closer = sample().rendered(widest(&text) - 1);
        assert_eq!(closer.lines().count(), 4, "closer, not broken: {closer}");
    }

    #[test]
    fn every_width_has_all_words() {
        let whole = sample().rendered(1000);
        for width in 45..140 {
            let text = sample().rendered(width);
            assert!(widest(&text) <= width, "{width}:\n{text}");
            assert_eq!(words(&text), words(&whole), "{width}:\n{text}");
        }
    }

    #[test]
    fn parts_begin_with_what_names_a_row() {
        let mut table = table(&["hit %", "depth", "always punted, ms", "cached first, ms"], &[]).keys(2);
        table.add_row(["33", "1", "123,456,789,012", "987,654,321,098"]);
        let text = table.rendered(40);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for row in [["33", "1", "123,456,789,012"], ["33", "1", "987,654,321,098"]] {
            assert!(rows.contains(&row.to_vec()), "{text}");
        }
    }

    #[test]
    fn parts_leave_out_empty_rows() {
        let text = sample().rendered(52);
        assert_eq!(text.matches("pathwalk").count(), 1, "{text}");
        assert_eq!(text.matches("map of").count(), 2, "{text}");
    }

    #[test]
    fn headings_take_two_lines_at_most() {
        assert_eq!(["µs with the cache", "ns", "files a second", "per second"].map(in_two_lines), [9, 2, 7, 6]);
    }

    #[test]
    fn no_number_is_broken() {
        for width in 10..60 {
            assert!(sample().rendered(width).contains("55.1 .. 60.2"), "{width}");
        }
    }
}
