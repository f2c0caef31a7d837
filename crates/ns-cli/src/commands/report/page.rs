//! The page of a report: one HTML file with its style inside.

use std::fmt::Write;

use ns_core::{Model, plain};
use ns_inference::present::{count, duration};
use ns_inference::report::{DocumentFormat, Part, html_escaped};

use super::analyses::{Section, summary};

const STYLE: &str = include_str!("page.css");

/// Returns the page. `seconds` is the wall time of all analyses.
pub(super) fn page(model: &Model, sections: &[Section], seconds: f64) -> String {
    let title = format!("Report of {}", plain(&model.measurement));
    let title = html_escaped(&title);
    let links: String = sections
        .iter()
        .map(|section| format!("<a href=\"#{}\">{}</a>\n", section.id, html_escaped(section.title)))
        .collect();
    let body: String = sections.iter().map(shown).collect();
    let made = format!(
        "nextstat {}, {}, {}, {} in all; digest of the model {}",
        env!("CARGO_PKG_VERSION"),
        count(model.channels.len() + model.event_channels.len(), "channel"),
        count(model.parameters.len(), "parameter"),
        duration(seconds),
        model.digest(),
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<nav>\n{links}</nav>\n<main>\n<h1>{title}</h1>\n\
         <div class=\"summary\">{}</div>\n{body}<footer>{}</footer>\n</main>\n</body>\n</html>\n",
        DocumentFormat::Html.render(&[Part::Table(summary(sections))]),
        html_escaped(&made),
    )
}

/// Returns one section as HTML.
fn shown(section: &Section) -> String {
    let mut html = format!("<section id=\"{}\">\n<h2>{}</h2>\n", section.id, html_escaped(section.title));
    let mut add = |text: String| html.push_str(&text);
    if let Some(failure) = &section.failure {
        add(format!("<p class=\"failure\">{}</p>\n", html_escaped(&plain(failure))));
    }
    if !section.warnings.is_empty() {
        let lines: String =
            section.warnings.iter().map(|w| format!("<li>{}</li>\n", html_escaped(&plain(w)))).collect();
        add(format!("<ul class=\"warnings\">\n{lines}</ul>\n"));
    }
    for figure in &section.figures {
        let (file, caption) = (html_escaped(&figure.file), html_escaped(&figure.caption));
        add(format!(
            "<figure><a href=\"{file}\"><img src=\"{file}\" alt=\"{caption}\"></a>\
             <figcaption>{caption}</figcaption></figure>\n"
        ));
    }
    add(format!("<div class=\"numbers\">\n{}</div>\n", DocumentFormat::Html.render(&section.parts)));
    let mut closing = String::new();
    for command in &section.commands {
        let _ = writeln!(closing, "<pre>{}</pre>", html_escaped(command));
    }
    let results: Vec<String> = section
        .files
        .iter()
        .filter(|file| file.name.ends_with(".json"))
        .map(|file| format!("<a href=\"{0}\">{0}</a>", html_escaped(&file.name)))
        .collect();
    if !results.is_empty() {
        let _ = writeln!(closing, "<p class=\"files\">All digits: {}</p>", results.join(", "));
    }
    html + &closing + "</section>\n"
}
