//! Reads the keys of one JSON object. Every key that is missing, unknown or of the wrong type is reported.

use std::cell::{Cell, RefCell};

use serde_json::{Map, Value};

use crate::hs3::document::{Arg, Argument, Placed};
use crate::pyhf::expect::{self, ValueLocation, lower};
use crate::pyhf::names::{list, nearest, quoted};
use crate::pyhf::problem::Report;

/// A JSON object that is being read. The reader asks for keys. [`Fields::finish`] reports the keys that the reader
/// never asked for.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: ValueLocation,
    asked: RefCell<Vec<&'static str>>,
    /// Whether keys that the reader never asked for are accepted too.
    whole: Cell<bool>,
}

impl<'a> Fields<'a> {
    /// Begins to read an object. Reports an error if the value is not an object.
    pub(super) fn of(value: &'a Value, place: ValueLocation, report: &mut Report) -> Option<Self> {
        let Value::Object(map) = value else {
            // Any keys are allowed here, because they are checked one by one later.
            expect::object(value, &place, &[], &[], report);
            return None;
        };
        Some(Self { map, place, asked: RefCell::default(), whole: Cell::new(false) })
    }

    /// Returns the JSON pointer to a key.
    pub(super) fn path(&self, key: &str) -> String {
        self.place.key(key)
    }

    /// Returns the JSON pointer to the object.
    pub(super) fn here(&self) -> String {
        self.place.path.clone()
    }

    /// Returns the value of an optional key. A value of `null` counts as absent.
    pub(super) fn optional(&self, key: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().push(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Returns the value of a required key. Reports an error if the key is absent.
    pub(super) fn required(&self, key: &'static str, report: &mut Report) -> Option<&'a Value> {
        let value = self.optional(key);
        if value.is_none() {
            let others = self.map.keys().map(String::as_str).filter(|other| *other != key);
            let near = nearest(key, others);
            let is_null = self.map.contains_key(key);
            report.error(
                self.here(),
                match is_null {
                    true => format!("The key {} of {} is null.", quoted(key), lower(&self.place.what)),
                    false => format!("{} lacks the key {}.", self.place.what, quoted(key)),
                },
                match near {
                    Some(near) => format!("Add it; is {} meant to be it?", quoted(near)),
                    // ROOT writes objects that it cannot express with a name alone.
                    None if key == "type" && self.map.keys().all(|key| key == "name") => {
                        "Add the type and its keys; ROOT writes a name alone if it cannot express an object."
                            .to_owned()
                    }
                    None if is_null => "Write a value.".to_owned(),
                    None => "Add it.".to_owned(),
                },
            );
        }
        value
    }

    /// Returns whether a key exists. Does not count as asking for the key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the place and the description of the value of a key, for messages.
    pub(super) fn location(&self, key: &str) -> ValueLocation {
        ValueLocation::new(self.path(key), format!("{} of {}", quoted(key), lower(&self.place.what)))
    }

    /// Returns the string under a required key. Reports any other value.
    pub(super) fn text(&self, key: &'static str, report: &mut Report) -> Option<&'a str> {
        let value = self.required(key, report)?;
        expect::string(value, &self.location(key), report)
    }

    /// Returns the string under a required key, with its place.
    pub(super) fn name(&self, key: &'static str, report: &mut Report) -> Option<Placed<String>> {
        let value = self.text(key, report)?.to_owned();
        Some(Placed { value, path: self.path(key) })
    }

    /// Returns the string under an optional key, with its place.
    pub(super) fn optional_name(&self, key: &'static str, report: &mut Report) -> Option<Placed<String>> {
        let value = self.optional(key)?;
        let text = expect::string(value, &self.location(key), report)?;
        Some(Placed { value: text.to_owned(), path: self.path(key) })
    }

    /// Returns the number under a required key. Reports any other value and returns NaN.
    pub(super) fn number(&self, key: &'static str, report: &mut Report) -> f64 {
        match self.required(key, report) {
            Some(value) => expect::number(value, &self.location(key), report),
            None => f64::NAN,
        }
    }

    /// Returns the number under an optional key.
    pub(super) fn optional_number(&self, key: &'static str, report: &mut Report) -> Option<f64> {
        let value = self.optional(key)?;
        Some(expect::number(value, &self.location(key), report)).filter(|x| x.is_finite())
    }

    /// Returns the boolean under an optional key.
    pub(super) fn optional_flag(&self, key: &'static str, report: &mut Report) -> Option<bool> {
        let value = self.optional(key)?;
        if value.as_bool().is_none() {
            let what = self.location(key).what;
            report.error(self.path(key), format!("{what} must be true or false."), "Write true or false.");
        }
        value.as_bool()
    }

    /// Returns the numbers of the array under a required key.
    pub(super) fn numbers(&self, key: &'static str, report: &mut Report) -> Vec<f64> {
        match self.required(key, report) {
            Some(value) => expect::numbers(value, &self.location(key), report),
            None => Vec::new(),
        }
    }

    /// Returns the elements of the array under a required key, with their places. ROOT writes an empty array as `null`.
    pub(super) fn items(
        &self,
        key: &'static str,
        of: &str,
        report: &mut Report,
    ) -> Vec<(&'a Value, ValueLocation)> {
        if self.map.get(key).is_some_and(Value::is_null) {
            self.ignore(&[key]);
            return Vec::new();
        }
        let Some(value) = self.required(key, report) else { return Vec::new() };
        let place = self.location(key);
        let Some(items) = expect::array(value, &place, of, report) else { return Vec::new() };
        let element = |(i, item)| {
            let what = format!("Element {i} of {}", lower(&place.what));
            (item, ValueLocation::new(format!("{}/{i}", place.path), what))
        };
        items.iter().enumerate().map(element).collect()
    }

    /// Returns the number or the name under a required key.
    pub(super) fn argument(&self, key: &'static str, report: &mut Report) -> Arg {
        match self.required(key, report) {
            Some(value) => argument(value, &self.location(key), report),
            None => Placed { value: Argument::Broken, path: self.here() },
        }
    }

    /// Returns the numbers and names of the array under a required key. A single number or name counts as an
    /// array with one element.
    pub(super) fn arguments(&self, key: &'static str, report: &mut Report) -> Vec<Arg> {
        if self.map.get(key).is_some_and(|value| value.is_string() || value.is_number()) {
            return vec![self.argument(key, report)];
        }
        let items = self.items(key, "numbers and names", report);
        items.into_iter().map(|(item, place)| argument(item, &place, report)).collect()
    }

    /// Returns the numbers and names of the array under an optional key; an empty list if the key is absent.
    pub(super) fn optional_arguments(&self, key: &'static str, report: &mut Report) -> Vec<Arg> {
        if self.optional(key).is_some() { self.arguments(key, report) } else { Vec::new() }
    }

    /// Returns the strings of the array under an optional key, with their places; an empty list if the key is
    /// absent.
    pub(super) fn optional_names(&self, key: &'static str, report: &mut Report) -> Vec<Placed<String>> {
        if self.optional(key).is_none() {
            return Vec::new();
        }
        let items = self.items(key, "names", report);
        let read = |(item, place): (&Value, ValueLocation)| {
            let value = expect::string(item, &place, report)?.to_owned();
            Some(Placed { value, path: place.path })
        };
        items.into_iter().filter_map(read).collect()
    }

    /// Accepts keys that have no influence on the likelihood, so that [`Fields::finish`] does not report
    /// them.
    pub(super) fn ignore(&self, keys: &[&'static str]) {
        self.asked.borrow_mut().extend_from_slice(keys);
    }

    /// Accepts all keys, for an object of a type that is not supported.
    pub(super) fn ignore_all(&self) {
        self.whole.set(true);
    }

    /// Reports all keys that were never asked for.
    pub(super) fn finish(self, report: &mut Report) {
        if self.whole.get() {
            return;
        }
        let asked = self.asked.into_inner();
        for key in self.map.keys().filter(|key| !asked.contains(&key.as_str())) {
            let near = nearest(key, asked.iter().copied().filter(|known| !self.map.contains_key(*known)));
            let known = list("The keys are", &asked);
            report.error(
                self.place.key(key),
                format!("{} has the unknown key {}.", self.place.what, quoted(key)),
                match near {
                    Some(near) => format!("Did you mean {}? Else remove it.", quoted(near)),
                    None => format!("Remove it, if it has no meaning for the likelihood. {known}"),
                },
            );
        }
    }
}

/// Reads a number or a name.
pub(super) fn argument(value: &Value, place: &ValueLocation, report: &mut Report) -> Arg {
    let path = place.path.clone();
    let value = match value {
        Value::String(name) => Argument::Name(name.clone()),
        Value::Number(_) => {
            let number = expect::number(value, place, report);
            if number.is_finite() { Argument::Number(number) } else { Argument::Broken }
        }
        other => {
            let found = expect::kind_of(other);
            report.error(
                path.clone(),
                format!("{} must be a number or a name, but is {found}.", place.what),
                "Write a number, or the name of a parameter or function in quotes.",
            );
            Argument::Broken
        }
    };
    Placed { value, path }
}
