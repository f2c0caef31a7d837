//! The commands that make the parts of a report again.

use std::ffi::OsString;

/// Flags of `report` with a value that other commands do not have.
const OWN: [&str; 5] = ["-o", "--output", "--cl", "--top", "--without"];

/// Returns the command line of another command on the same model, quoted for a shell. `arguments` are those of this
/// program, and `more` those that the other command needs besides.
pub(super) fn command(arguments: &[OsString], name: &str, more: &[&str]) -> String {
    let mut words = vec!["nextstat".to_owned(), name.to_owned()];
    let mut given = arguments.iter().skip(2).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = given.next() {
        let is_own = |flag: &&str| {
            let short = !flag.starts_with("--") && word.starts_with(*flag) && word != **flag;
            short || word.strip_prefix(*flag).is_some_and(|rest| rest.starts_with('='))
        };
        if OWN.contains(&word.as_str()) {
            given.next();
        } else if !(OWN.iter().any(is_own) || word == "-q" || word == "--quiet") {
            words.push(word);
        }
    }
    words.extend(more.iter().map(|word| (*word).to_owned()));
    joined(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the command line of these words, quoted for a shell.
pub(super) fn joined(words: &[&str]) -> String {
    // A NUL byte, which cannot be quoted, cannot be in an argument either.
    shlex::try_join(words.iter().copied()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_flags_of_the_report_are_left_out() {
        let given = "nextstat report -i|a model.json|-o|out|--fix|mu=1|--top=5|-oout|--cl|0.9|-q|--seed|3";
        let mut words: Vec<std::ffi::OsString> = vec!["nextstat".into(), "report".into()];
        words.extend(given.trim_start_matches("nextstat report ").split('|').map(Into::into));
        assert_eq!(
            command(&words, "fit", &["-o", "fit.json"]),
            "nextstat fit -i 'a model.json' --fix 'mu=1' --seed 3 -o fit.json"
        );
    }
}
