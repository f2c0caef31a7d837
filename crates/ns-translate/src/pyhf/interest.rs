//! Lists of parameters of interest: those of a measurement, and those that options name.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use wildmatch::WildMatch;

use super::names::{list as list_of, quoted};

/// Names of the parameters of interest of a measurement. pyhf's format has one name, or an empty text if there is none. A
/// list of several names is an extension, which pyhf refuses because its schema asks for a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Interest(Vec<String>);

impl Interest {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self(names.into_iter().filter(|name| !name.is_empty()).collect())
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Changes the names. Two that become the same are one.
    pub(crate) fn rename(&mut self, change: impl Fn(&mut String)) {
        let mut changed: Vec<String> = Vec::with_capacity(self.0.len());
        for mut name in std::mem::take(&mut self.0) {
            change(&mut name);
            if !changed.contains(&name) {
                changed.push(name);
            }
        }
        self.0 = changed;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|known| known != name);
    }

    /// Returns the names for messages.
    pub(crate) fn quoted(&self) -> String {
        match self.0.as_slice() {
            [] => quoted(""),
            names => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// What a file has in the place of the name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for Interest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Written::deserialize(from)? {
            Written::One(name) => Ok(Self::new(vec![name])),
            // An empty list says neither which parameter it means nor that there is none.
            Written::Several(names) if names.is_empty() => Err(D::Error::custom("an empty list")),
            Written::Several(names) => Ok(Self(names)),
        }
    }
}

impl Serialize for Interest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => serializer.serialize_str(""),
            [name] => serializer.serialize_str(name),
            names => names.serialize(serializer),
        }
    }
}

/// A list of parameters of interest that cannot be used.
pub(crate) struct BadList {
    /// The list, or the name in it that is wrong.
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

/// The word for all parameters.
const ALL: &str = "all";

/// Returns whether a text that is no name of a parameter may stand for several parameters: a pattern with `*` or `?`, or `all`.
#[must_use]
pub fn is_pattern(name: &str) -> bool {
    name == ALL || name.contains(['*', '?'])
}

/// Returns the names in lists that are separated by commas. A list that is the name of a parameter is not split, because
/// names may contain commas. A pattern, in which `*` stands for any characters and `?` for one, becomes the names among
/// `scalars` that it matches, and `all` becomes all of them. Names that were given before are left out of what a pattern or
/// `all` means. No lists mean that the file decides.
///
/// # Errors
/// If a list is empty, a pattern matches nothing new, or a name is given twice.
pub(crate) fn wanted(
    lists: &[String],
    is_known: impl Fn(&str) -> bool,
    scalars: &[&str],
) -> Result<Vec<String>, BadList> {
    let mut names: Vec<String> = Vec::new();
    for list in lists {
        if is_known(list) {
            names.push(list.clone());
        } else {
            for name in list.split(',').map(str::trim) {
                if is_known(name) || !is_pattern(name) {
                    names.push(name.to_owned());
                    continue;
                }
                let before = names.len();
                let pattern = WildMatch::new(if name == ALL { "*" } else { name });
                let found: Vec<&str> =
                    scalars.iter().copied().filter(|scalar| pattern.matches(scalar)).collect();
                for scalar in &found {
                    if !names.iter().any(|earlier| earlier == scalar) {
                        names.push((*scalar).to_owned());
                    }
                }
                if names.len() == before {
                    let message = if found.is_empty() {
                        "no scalar parameter has a name of this pattern."
                    } else {
                        "all parameters with names of this pattern are given before it."
                    };
                    return Err(BadList {
                        name: name.to_owned(),
                        message: message.to_owned(),
                        remedy: list_of("The scalar parameters are", scalars),
                    });
                }
            }
        }
    }
    for (i, name) in names.iter().enumerate() {
        let problem = if name.is_empty() {
            Some((
                "the list of parameters of interest has an empty name.",
                "Give one name or several, separated by commas.",
            ))
        } else if names.iter().take(i).any(|earlier| earlier == name) {
            Some(("the list of parameters of interest has it twice.", "Give every name once."))
        } else {
            None
        };
        if let Some((message, remedy)) = problem {
            let name = if name.is_empty() { lists.join(",") } else { name.clone() };
            return Err(BadList { name, message: message.to_owned(), remedy: remedy.to_owned() });
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Result<Vec<String>, BadList> {
        let lists: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        wanted(&lists, |name| name == "a,b", &["mu_a", "mu_b", "k"])
    }

    #[test]
    fn lists_are_split_at_commas_unless_they_are_a_name() {
        assert_eq!(list(&["x, y", "z"]).ok().unwrap(), ["x", "y", "z"]);
        assert_eq!(list(&["a,b", "a"]).ok().unwrap(), ["a,b", "a"]);
        assert!(list(&[]).ok().unwrap().is_empty());
    }

    #[test]
    fn patterns_become_names() {
        assert_eq!(list(&["mu_*"]).ok().unwrap(), ["mu_a", "mu_b"]);
        assert_eq!(list(&["mu_b,mu_?", "k"]).ok().unwrap(), ["mu_b", "mu_a", "k"]);
        assert_eq!(list(&["nu*"]).err().unwrap().name, "nu*");
        assert_eq!(list(&["all"]).ok().unwrap(), ["mu_a", "mu_b", "k"]);
        assert_eq!(list(&["k", "all"]).ok().unwrap(), ["k", "mu_a", "mu_b"]);
        // A parameter may have this name.
        assert_eq!(wanted(&["all".to_owned()], |name| name == "all", &["mu", "all"]).ok().unwrap(), ["all"]);
    }

    #[test]
    fn an_empty_name_and_a_double_are_errors() {
        assert_eq!(list(&["x,x"]).err().unwrap().name, "x");
        for text in ["", "x,", ","] {
            assert_eq!(list(&[text]).err().unwrap().name, text);
        }
    }

    #[test]
    fn one_name_is_written_as_a_text() {
        let read = |text: &str| serde_json::from_str::<Interest>(text);
        for text in [r#""""#, r#""mu""#, r#"["a","b"]"#] {
            assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        }
        assert_eq!(serde_json::to_string(&read(r#"["a"]"#).unwrap()).unwrap(), r#""a""#);
        assert!(read("[]").is_err() && read("3").is_err());
    }
}
