//! Data tables as YAML. Texts are written as JSON texts, which YAML reads as well.

use ns_core::plain;

use super::{DataColumn, DataError, DataTable, DataValue};

/// Largest number of characters in the name of a table.
const LONGEST: usize = 64;

/// Returns a table as a document.
pub(super) fn document(table: &DataTable) -> String {
    let name: String = table.name.chars().take(LONGEST).collect();
    let mut out = format!("name: {}\ndescription: {}\n", text(&name), text(&table.description));
    if table.phrases.is_empty() {
        out += "keywords: []\n";
    } else {
        let phrases: Vec<String> = table.phrases.iter().map(|phrase| text(phrase)).collect();
        out += &format!("keywords:\n- name: phrases\n  values: [{}]\n", phrases.join(", "));
    }
    for (key, columns) in
        [("independent_variables", &table.independent), ("dependent_variables", &table.dependent)]
    {
        out += &format!("{key}:\n");
        columns.iter().for_each(|column| add(&mut out, column));
    }
    out
}

fn add(out: &mut String, column: &DataColumn) {
    *out += &format!("- header: {{name: {}}}\n", text(&column.name));
    if !column.qualifiers.is_empty() {
        *out += "  qualifiers:\n";
        for (name, value) in &column.qualifiers {
            *out += &format!("  - {{name: {}, value: {}}}\n", text(name), text(value));
        }
    }
    if column.values.is_empty() {
        *out += "  values: []\n";
        return;
    }
    *out += "  values:\n";
    for value in &column.values {
        *out += &format!("  - {{{}}}\n", entry(value));
    }
}

fn entry(value: &DataValue) -> String {
    match value {
        DataValue::Text(words) => format!("value: {}", text(words)),
        DataValue::Range(low, high) => format!("low: {}, high: {}", number(*low), number(*high)),
        DataValue::Number(value) => format!("value: {}", or_missing(*value)),
        DataValue::Measured(Some(value), errors) if !errors.is_empty() => {
            let errors: Vec<String> = errors.iter().map(error).collect();
            format!("value: {}, errors: [{}]", or_missing(Some(*value)), errors.join(", "))
        }
        DataValue::Measured(value, _) => format!("value: {}", or_missing(*value)),
    }
}

fn error(error: &DataError) -> String {
    let size = if error.plus == -error.minus {
        format!("symerror: {}", number(error.plus))
    } else {
        format!("asymerror: {{minus: {}, plus: {}}}", number(error.minus), number(error.plus))
    };
    if error.label.is_empty() {
        format!("{{{size}}}")
    } else {
        format!("{{{size}, label: {}}}", text(&error.label))
    }
}

/// Returns a number, or HEPData's sign for a missing one.
fn or_missing(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| "\"-\"".to_owned(), number)
}

/// Returns a number with six significant digits. Readers of YAML 1.1 take an exponent only after a point, and with a
/// sign.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded == 0.0 {
        return "0".to_owned();
    }
    if (1e-4..1e9).contains(&rounded.abs()) {
        return format!("{rounded}");
    }
    let text = format!("{rounded:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Returns a text in quotes.
fn text(words: &str) -> String {
    // Control characters become visible first, so only quotes and backslashes have to be escaped.
    let words = plain(words);
    format!("\"{}\"", words.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_for_readers_of_yaml_1_1() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.125, "-0.125"),
            (123_456.789, "123457"),
            (1e-7, "1.0e-7"),
            (-2.5e-9, "-2.5e-9"),
            (1.5e12, "1.5e+12"),
            (0.1 + 0.2, "0.3"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!((or_missing(None), or_missing(Some(f64::NAN))), ("\"-\"".into(), "\"-\"".into()));
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(text("a\"b\\c: {d}\n#e"), "\"a\\\"b\\\\c: {d}\\\\u{a}#e\"");
    }

    #[test]
    fn a_table_is_a_document() {
        let bands = vec![DataError { label: "1 sigma".into(), minus: -0.5, plus: 0.75 }];
        let table = DataTable {
            name: "x".repeat(70),
            description: "two rows".into(),
            phrases: vec!["limit".into()],
            independent: vec![DataColumn::new(
                "m",
                vec![DataValue::Range(0.0, 1.0), DataValue::Text("a".into())],
            )],
            dependent: vec![DataColumn {
                qualifiers: vec![("CL".into(), "95 %".into())],
                ..DataColumn::new(
                    "y",
                    vec![DataValue::measured(Some(2.0), Some(0.1)), DataValue::Measured(Some(1.0), bands)],
                )
            }],
        };
        let expected = format!(
            "name: \"{}\"\ndescription: \"two rows\"\nkeywords:\n- name: phrases\n  values: [\"limit\"]\n\
             independent_variables:\n- header: {{name: \"m\"}}\n  values:\n  - {{low: 0, high: 1}}\n  - {{value: \"a\"}}\n\
             dependent_variables:\n- header: {{name: \"y\"}}\n  qualifiers:\n  - {{name: \"CL\", value: \"95 %\"}}\n  values:\n  \
             - {{value: 2, errors: [{{symerror: 0.1}}]}}\n  \
             - {{value: 1, errors: [{{asymerror: {{minus: -0.5, plus: 0.75}}, label: \"1 sigma\"}}]}}\n",
            "x".repeat(64)
        );
        assert_eq!(document(&table), expected);
    }
}
