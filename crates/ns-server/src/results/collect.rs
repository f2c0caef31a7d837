//! Collects the schemas of types, and joins them to the schemas of results.

use std::collections::{BTreeMap, BTreeSet};

use ns_inference::report::RunInfo;
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{AllOfBuilder, ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::name_of;
use super::tidy::{joined, mentioned, tidy};

/// Start of the names of the schemas of [`ns_inference::toys::PerHypothesis`].
const GENERIC: &str = "PerHypothesis_";

/// Describes the keys of a value per hypothesis. The derived schema of a generic type has no descriptions of numbers.
fn describe_hypotheses(schema: &mut Value) {
    for (key, hypothesis) in [("b", "alternative"), ("sb", "tested")] {
        if let Some(Value::Object(property)) = schema.pointer_mut(&format!("/properties/{key}")) {
            let text = format!("Value for the {hypothesis} hypothesis.");
            property.entry("description").or_insert(Value::String(text));
        }
    }
}

/// The schemas of types by name, and the forms of each command's result.
#[derive(Default)]
pub(super) struct Collected {
    types: BTreeMap<String, RefOr<Schema>>,
    results: BTreeMap<&'static str, Vec<RefOr<Schema>>>,
    /// Types to which a path refers although no result does.
    further: BTreeSet<String>,
}

/// The result of one command, to which forms are added.
pub(super) struct ResultOf<'c> {
    collected: &'c mut Collected,
    command: &'static str,
}

impl Collected {
    /// Begins the result of a command.
    pub(super) fn result_of(&mut self, command: &'static str) -> ResultOf<'_> {
        self.results.entry(command).or_default();
        ResultOf { collected: self, command }
    }

    /// Adds a type and those that it uses. Returns a reference to it.
    fn reference<T: ToSchema + PartialSchema>(&mut self) -> Ref {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        self.types.extend(found);
        Ref::from_schema_name(T::name())
    }

    /// Adds a type that is no result of a command. Its schema has the name of the type.
    pub(super) fn part<T: ToSchema + PartialSchema>(&mut self) {
        self.reference::<T>();
        self.further.insert(T::name().into_owned());
    }

    /// Returns the schemas of all results and of the types to which they refer.
    ///
    /// # Errors
    /// If a schema cannot be written as JSON.
    pub(super) fn finish(self) -> serde_json::Result<Map<String, Value>> {
        let mut types = Map::new();
        for (name, schema) in self.types {
            let mut schema = serde_json::to_value(schema)?;
            if name.starts_with(GENERIC) {
                describe_hypotheses(&mut schema);
            }
            types.insert(name, schema);
        }
        let mut schemas = Map::new();
        for (command, forms) in self.results {
            let mut written = Vec::new();
            for form in forms {
                let mut form = joined(serde_json::to_value(form)?, &types);
                tidy(&mut form, &types);
                written.push(form);
            }
            let result = match <[Value; 1]>::try_from(written) {
                Ok([form]) => form,
                Err(forms) => json!({ "oneOf": forms }),
            };
            schemas.insert(name_of(command), result);
        }
        // A type that is always part of another object has no schema of its own.
        loop {
            let mut used = mentioned(&schemas);
            used.extend(self.further.iter().cloned());
            let missing = used.into_iter().find(|name| !schemas.contains_key(name));
            let Some(name) = missing else { break };
            let mut schema = types.get(&name).cloned().unwrap_or_default();
            tidy(&mut schema, &types);
            schemas.insert(name, schema);
        }
        schemas.sort_keys();
        Ok(schemas)
    }
}

impl ResultOf<'_> {
    fn form(self, form: impl Into<RefOr<Schema>>) -> Self {
        self.collected.results.entry(self.command).or_default().push(form.into());
        self
    }

    /// Adds a form: the keys of `T` alone.
    pub(super) fn alone<T: ToSchema + PartialSchema>(self) -> Self {
        let only = AllOfBuilder::new().item(self.collected.reference::<T>());
        self.form(Schema::AllOf(only.build()))
    }

    /// Adds a form: the keys of `T`, and those about the run.
    pub(super) fn ran<T: ToSchema + PartialSchema>(self) -> Self {
        let result = self.collected.reference::<T>();
        let run = self.collected.reference::<RunInfo>();
        self.form(Schema::AllOf(AllOfBuilder::new().item(result).item(run).build()))
    }

    /// Adds a form: one `T` for each of several parameters of interest, and the keys about the run.
    pub(super) fn for_each_poi<T: ToSchema + PartialSchema>(self) -> Self {
        let names = ArrayBuilder::new()
            .items(ObjectBuilder::new().schema_type(Type::String))
            .description(Some("Names of the parameters of interest, in the order of the model."));
        let results = ArrayBuilder::new().items(self.collected.reference::<T>()).description(Some(
            "The results, in the order of `pois`. After an interruption the last ones are missing.",
        ));
        let several = ObjectBuilder::new()
            .description(Some("The results of an analysis of each of several parameters of interest."))
            .property("pois", names)
            .required("pois")
            .property("results", results)
            .required("results");
        let run = self.collected.reference::<RunInfo>();
        self.form(Schema::AllOf(AllOfBuilder::new().item(several).item(run).build()))
    }

    /// Adds a form: a workspace.
    pub(super) fn workspace(self) -> Self {
        self.form(Schema::Object(
            ObjectBuilder::new()
                .description(Some(
                    "A workspace in pyhf's JSON, whose schema is that of pyhf (version 1.0.0).",
                ))
                .build(),
        ))
    }
}
