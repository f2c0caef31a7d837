//! Reports as parts of documents: Markdown, LaTeX, CSV and HTML.
//!
//! The numbers are those of the tables on a screen, rounded to their uncertainties. Programs read the JSON, which has
//! all digits.

mod csv;
mod html;
mod latex;
mod markdown;

use super::{Part, Table};

pub use html::{html_escaped, html_table, html_text};

/// A format of tables in documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Tables of GitHub's Markdown, which pandoc and most others read. Texts are paragraphs.
    Markdown,
    /// Tables of LaTeX with the package `booktabs`. Texts are comments.
    Latex,
    /// Comma-separated values (RFC 4180), a number per cell. Texts are left out if there is a table, and an empty line is
    /// between two tables.
    Csv,
    /// Tables and paragraphs of HTML, without the head of a page.
    Html,
}

impl DocumentFormat {
    /// Returns the parts of a report in this format. The text ends with a line break.
    #[must_use]
    pub fn render(self, parts: &[Part]) -> String {
        let contents: Vec<Content<'_>> = parts
            .iter()
            .flat_map(|part| match part {
                Part::Text(text) => vec![Content::Text(text)],
                Part::Table(table) | Part::Either(table, _) => vec![Content::Table(table)],
                Part::Arranged { document, .. } => document
                    .iter()
                    .flat_map(|(title, table)| [Content::Text(title), Content::Table(table)])
                    .collect(),
            })
            .collect();
        let has_table = contents.iter().any(|content| matches!(content, Content::Table(_)));
        let shown: Vec<String> = contents
            .into_iter()
            .filter_map(|content| match (self, content) {
                (_, Content::Text("")) => None,
                (Self::Csv, Content::Text(text)) => (!has_table).then(|| csv::text(text)),
                (Self::Csv, Content::Table(table)) => Some(csv::table(table)),
                (Self::Markdown, Content::Text(text)) => Some(markdown::text(text)),
                (Self::Markdown, Content::Table(table)) => {
                    Some(markdown::table(&without_empty_columns(table)))
                }
                (Self::Html, Content::Text(text)) => Some(html_text(text)),
                (Self::Html, Content::Table(table)) => Some(html_table(&without_empty_columns(table))),
                (Self::Latex, Content::Text(text)) => Some(latex::text(text)),
                (Self::Latex, Content::Table(table)) => Some(latex::table(&without_empty_columns(table))),
            })
            .collect();
        shown.join("\n")
    }
}

enum Content<'a> {
    Text(&'a str),
    Table(&'a Table),
}

/// Returns a table without the columns that have neither a title nor a cell with text.
fn without_empty_columns(table: &Table) -> Table {
    let has_text = |i: usize| {
        let title = table.columns.get(i).is_some_and(|column| !column.title.is_empty());
        title || table.rows.iter().any(|row| row.get(i).is_some_and(|cell| !cell.is_empty()))
    };
    let kept: Vec<usize> = (0..table.columns.len()).filter(|&i| has_text(i)).collect();
    let row = |row: &Vec<String>| kept.iter().filter_map(|&i| row.get(i).cloned()).collect();
    Table {
        columns: kept.iter().filter_map(|&i| table.columns.get(i).cloned()).collect(),
        rows: table.rows.iter().map(row).collect(),
        splits: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        let mut table = Table::new(&["name", "best fit", "impact up / down", ""], &[1, 2]);
        table.row(["mu_1|a", "-0.05 ± 0.10", "+0.1 / -2e-5", "at a bound, 5 %"]);
        table.row(["$x$, \"y\"", "none", "", ""]);
        vec![Part::Text("a_fit of 100 %\nsecond line".to_owned()), Part::Table(table)]
    }

    #[test]
    fn markdown_aligns_numbers_and_escapes_bars() {
        assert_eq!(
            DocumentFormat::Markdown.render(&parts()),
            "a\\_fit of 100 %  \nsecond line\n\n\
             | name | best fit | impact up / down |  |\n| --- | ---: | ---: | --- |\n\
             | mu\\_1\\|a | -0.05 ± 0.10 | +0.1 / -2e-5 | at a bound, 5 % |\n| $x$, \"y\" | none |  |  |\n"
        );
    }

    #[test]
    fn latex_sets_numbers_as_mathematics_and_escapes_the_rest() {
        assert_eq!(
            DocumentFormat::Latex.render(&parts()),
            "% a_fit of 100 %\n% second line\n\n\
             \\begin{tabular}{lrrl}\n\\toprule\nname & best fit & impact up / down &  \\\\\n\\midrule\n\
             mu\\_1|a & $-0.05 \\pm 0.10$ & $+0.1$ / $-2 \\times 10^{-5}$ & at a bound, $5$ \\% \\\\\n\
             \\$x\\$, \"y\" & none &  &  \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
    }

    #[test]
    fn latex_sets_standard_deviations_as_one_formula() {
        let mut table = Table::new(&["", "sigma"], &[1]);
        table.row(["expected -2 sigma", "0.5"].map(str::to_owned));
        let text = DocumentFormat::Latex.render(&[Part::Table(table)]);
        assert!(text.contains(" & sigma ") && text.contains("expected $-2\\sigma$ & $0.5$"), "{text}");
    }

    #[test]
    fn csv_has_one_number_per_cell() {
        assert_eq!(
            DocumentFormat::Csv.render(&parts()),
            "name,best fit,best fit uncertainty,impact up,impact down,note\n\
             mu_1|a,-0.05,0.10,+0.1,-2e-5,\"at a bound, 5 %\"\n\
             \"$x$, \"\"y\"\"\",none,,,,\n"
        );
    }

    #[test]
    fn html_marks_numbers_and_escapes_what_means_something() {
        assert_eq!(
            DocumentFormat::Html.render(&[Part::Text("a < b\n\"c\" & d".to_owned())]),
            "<p>a &lt; b<br>&quot;c&quot; &amp; d</p>\n"
        );
        let mut table = Table::new(&["name", "x"], &[1]);
        table.row(["<b>", "1"]);
        assert_eq!(
            DocumentFormat::Html.render(&[Part::Table(table)]),
            "<table><thead><tr><th>name</th><th class=\"number\">x</th></tr>\n</thead>\
             <tbody><tr><td>&lt;b&gt;</td><td class=\"number\">1</td></tr>\n</tbody></table>\n"
        );
    }

    #[test]
    fn intervals_are_below_and_above() {
        let mut table = Table::new(&["a", "interval"], &[1]);
        table.row(["mu", "-0.60 +0.65"]);
        let parts = [Part::Table(table)];
        assert!(DocumentFormat::Latex.render(&parts).contains("mu & ${}_{-0.60}^{+0.65}$ \\\\"));
        assert_eq!(DocumentFormat::Csv.render(&parts), "a,interval down,interval up\nmu,-0.60,+0.65\n");
    }

    #[test]
    fn a_report_without_a_table_is_lines_of_csv() {
        let parts = [Part::Text("chi2 0.7, 5 degrees\np-value 0.9".to_owned())];
        assert_eq!(DocumentFormat::Csv.render(&parts), "\"chi2 0.7, 5 degrees\"\np-value 0.9\n");
    }

    #[test]
    fn columns_without_text_are_left_out() {
        let mut table = Table::new(&["a", "b", ""], &[1]);
        table.row(["x", "1", ""]);
        assert_eq!(
            DocumentFormat::Markdown.render(&[Part::Table(table)]),
            "| a | b |\n| --- | ---: |\n| x | 1 |\n"
        );
    }

    #[test]
    fn names_cannot_end_a_line_or_a_comment() {
        let mut table = Table::new(&["a"], &[]);
        table.row(["x\ny\u{1b}[31m"]);
        let parts = [Part::Text("one\r\ntwo\u{1b}".to_owned()), Part::Table(table)];
        for format in
            [DocumentFormat::Markdown, DocumentFormat::Latex, DocumentFormat::Csv, DocumentFormat::Html]
        {
            let text = format.render(&parts);
            assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains("x\ny"), "{text:?}");
        }
    }
}
