//! Names with markup: a small part of LaTeX, and ROOT's spelling of it.
//!
//! Between dollars a text is read as LaTeX reads mathematics (`$t\bar{t}H$`, `$m_{bb}$ [GeV]`). Without dollars commands
//! that are known are read, with a backslash or with ROOT's `#`, and scripts in braces (`\alpha_{JES}`, `t#bar{t}`), so that
//! names such as `alpha_JES` stay as they are. Commands that are not known are drawn as they are written.

mod layout;
mod parser;
mod symbols;

use std::borrow::Cow;

pub(crate) use layout::{Piece, lay};
#[cfg(test)]
pub(crate) use symbols::signs;

/// A part of a text with markup.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// Characters on the line of the text.
    Text(String),
    /// A subscript and a superscript. Either may be empty.
    Scripts { below: Vec<Node>, above: Vec<Node> },
}

/// Reads a text. Returns `None` if it has no markup.
pub(crate) fn parse(text: &str) -> Option<Vec<Node>> {
    if !text.contains(['$', '\\', '#']) && !text.contains("_{") && !text.contains("^{") {
        return None;
    }
    let characters: Vec<char> = text.chars().collect();
    let escaped = |at: usize| at > 0 && characters.get(at - 1) == Some(&'\\');
    let dollars =
        (0..characters.len()).filter(|at| characters.get(*at) == Some(&'$') && !escaped(*at)).count();
    let dollars = dollars > 0 && dollars % 2 == 0;
    let (nodes, marked) = parser::read(characters, dollars);
    (marked && !nodes.is_empty()).then_some(nodes)
}

/// Returns the characters of a text without its markup.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    match parse(text) {
        None => Cow::Borrowed(text),
        Some(nodes) => {
            let mut out = String::with_capacity(text.len());
            flatten(&nodes, &mut out);
            Cow::Owned(out)
        }
    }
}

fn flatten(nodes: &[Node], out: &mut String) {
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Scripts { below, above } => {
                flatten(below, out);
                flatten(above, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parser::THIN;
    use super::*;

    fn written(text: &str) -> String {
        fn write(nodes: &[Node], out: &mut String) {
            for node in nodes {
                match node {
                    Node::Text(text) => out.push_str(text),
                    Node::Scripts { below, above } => {
                        for (sign, nodes) in [('↓', below), ('↑', above)] {
                            if !nodes.is_empty() {
                                out.push(sign);
                                write(nodes, out);
                                out.push('.');
                            }
                        }
                    }
                }
            }
        }
        let mut out = String::new();
        match parse(text) {
            Some(nodes) => write(&nodes, &mut out),
            None => out.push('='),
        }
        out.replace(THIN, "")
    }

    #[test]
    fn names_as_analysts_write_them() {
        for (text, wanted) in [
            (r"$t\bar{t}H$", "tt\u{304}H"),
            (r"$m_{bb}$ [GeV]", "m↓bb. [GeV]"),
            (r"\alpha_{JES}", "α↓JES."),
            (r"\alpha_JES", "α_JES"),
            (r"$H \to b\bar b$", "H→bb\u{304}"),
            (r"t#bar{t} + #geq 1b", "tt\u{304} + ≥ 1b"),
            (r"$E_\mathrm{T}^{miss}$", "E↓T.↑miss."),
            (r"$p_T^2$", "p↓T.↑2."),
            (r"$\sqrt{s}=13~\mathrm{TeV}$, 139 fb$^{-1}$", "√s=13\u{a0}TeV, 139 fb↑−1."),
            (r"$\sqrt{s_{NN}}$", "√s↓NN."),
            (r"$\hat\mu_{x^2}$", "μ\u{302}↓x↑2.."),
            (r"$\frac{a+b}{c}$", "(a+b)/c"),
            (r"JES\_eta", "JES_eta"),
            (r"events~in $x$", "events\u{a0}in x"),
            (r"$\tilde{\chi}^0_1$", "χ\u{303}↓1.↑0."),
        ] {
            assert_eq!(written(text), wanted, "{text}");
        }
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for text in
            ["alpha_JES", "a^2", r"C:\data", "cost 5$", "bin #3", "~x", "f{x}", r"\foo{x}", "_{", "#foo"]
        {
            assert_eq!(written(text), "=", "{text}");
            assert_eq!(plain(text), text);
        }
        assert_eq!(plain(r"$t\bar{t}$ $m_{x}$"), "tt\u{304} mx");
    }

    #[test]
    fn broken_markup_ends() {
        for text in
            [r"$\bar$", r"$x_$", r"$\frac{a$", "$}{$", r"\sqrt", "$^^^_{_{_", r"\bar\bar\bar", r"$\$$"]
        {
            let _ = parse(text);
        }
        let deep = format!("${}x{}$", "_{".repeat(500), "}".repeat(500));
        assert!(parse(&deep).is_some());
        let accents = format!("${}x$", r"\bar".repeat(500));
        assert!(parse(&accents).is_some());
    }
}
