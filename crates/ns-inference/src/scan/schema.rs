//! The JSON schemas of scans. A scan in two parameters has other keys than a scan in one, and both are a [`ScanResult`].

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Array, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::ScanResult;

/// The JSON of a scan in one parameter.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs)]
pub struct ScanOfOne;

/// The JSON of a scan in two parameters.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs)]
pub struct ScanOfTwo;

/// Returns the schema of the fields of [`ScanResult`].
fn fields() -> Object {
    match ScanResult::schema() {
        RefOr::T(Schema::Object(object)) => object,
        _ => Object::new(),
    }
}

fn remove(object: &mut Object, keys: &[&str]) {
    for key in keys {
        object.properties.remove(*key);
    }
    object.required.retain(|key| !keys.contains(&key.as_str()));
}

impl PartialSchema for ScanOfOne {
    fn schema() -> RefOr<Schema> {
        let mut object = fields();
        remove(&mut object, &["levels"]);
        object.description = Some(
            "A profile likelihood scan in one parameter. A number that does not exist is `null`, and a warning gives the reason."
                .to_owned(),
        );
        RefOr::T(Schema::Object(object))
    }
}

impl ToSchema for ScanOfOne {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ScanResult::schemas(schemas);
    }
}

/// The keys of the second parameter, and whether a value is a list or may be missing.
fn second() -> [(&'static str, Schema, &'static str); 4] {
    let number = || ObjectBuilder::new().schema_type(Type::Number);
    let perhaps = || ObjectBuilder::new().schema_type(SchemaType::Array(vec![Type::Number, Type::Null]));
    [
        (
            "param2",
            ObjectBuilder::new().schema_type(Type::String).into(),
            "Full name of the second scanned parameter.",
        ),
        (
            "mu2_values",
            ArrayBuilder::new().items(number()).into(),
            "Scanned values of the second parameter, in the order of the request.",
        ),
        ("mu2_hat", number().into(), "Best-fit value of the second parameter."),
        (
            "uncertainty2",
            perhaps().into(),
            "Uncertainty of the second parameter from the Hessian at the best fit; `null` if it does not exist.",
        ),
    ]
}

impl PartialSchema for ScanOfTwo {
    fn schema() -> RefOr<Schema> {
        let mut object = fields();
        remove(&mut object, &["q_mu_values", "intervals"]);
        for (key, mut value, about) in second() {
            match &mut value {
                Schema::Object(value) => value.description = Some(about.to_owned()),
                Schema::Array(value) => value.description = Some(about.to_owned()),
                _ => {}
            }
            object.properties.insert(key.to_owned(), RefOr::T(value));
            object.required.push(key.to_owned());
        }
        for key in ["twice_delta_nll", "converged", "reasons"] {
            if let Some(RefOr::T(Schema::Array(list))) = object.properties.get_mut(key) {
                let about = list.description.take();
                let mut rows = Array::new(RefOr::T(Schema::Array(list.clone())));
                rows.description = about
                    .map(|text| format!("{text} There is one row for each value of the second parameter."));
                *list = rows;
            }
        }
        object.description = Some(
            "A profile likelihood scan in two parameters. Lists with one number per point are lists of rows: one row for each \
             value of the second parameter, and in it one number for each value of the first."
                .to_owned(),
        );
        RefOr::T(Schema::Object(object))
    }
}

impl ToSchema for ScanOfTwo {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ScanResult::schemas(schemas);
    }
}
