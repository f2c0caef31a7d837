//! The JSON schema of impacts, whose keys [`Impacts`] makes when it is serialised.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{Impacts, Side};

/// The kinds of keys that there are for each side: the start of the key, its types, and what it is for the sides `up`, as
/// the end of a sentence.
const KEYS: [(&str, &[Type], &str); 4] = [
    (
        "delta_mu",
        &[Type::Number, Type::Null],
        "value of the target in the varied fit minus its best-fit value; `null` if it is missing, and `reasons` says why",
    ),
    (
        "value",
        &[Type::Number, Type::Null],
        "value to which the parameter was moved; for the definition `global`, the value to which its auxiliary datum was moved",
    ),
    ("clipped", &[Type::Boolean], "whether a bound of the parameter limited the variation"),
    (
        "converged",
        &[Type::Boolean, Type::Null],
        "whether the varied fit converged; `null` if no fit was needed or made",
    ),
];

/// Returns the start of the description of a key: the variation that it belongs to.
fn variation(side: Side) -> &'static str {
    match side {
        Side::Up => "Parameter moved up",
        Side::Down => "Parameter moved down",
        Side::PrefitUp => "Parameter moved up by its pre-fit uncertainty",
        Side::PrefitDown => "Parameter moved down by its pre-fit uncertainty",
    }
}

fn kinds(types: &[Type]) -> SchemaType {
    match types {
        [one] => SchemaType::Type(one.clone()),
        several => SchemaType::Array(several.to_vec()),
    }
}

impl PartialSchema for Impacts {
    fn schema() -> RefOr<Schema> {
        let mut object = ObjectBuilder::new();
        for (start, types, about) in KEYS {
            for side in Side::ALL {
                let key = format!("{start}_{}", side.name());
                let text = format!("{}: {about}.", variation(side));
                let value = ObjectBuilder::new().schema_type(kinds(types)).description(Some(text));
                object = object.property(&key, value).required(key);
            }
        }
        let reason = ObjectBuilder::new().schema_type(Type::String);
        let reasons = ObjectBuilder::new()
            .additional_properties(Some(AdditionalProperties::<Schema>::from(reason)))
            .description(Some(
                "The reason for each missing shift, by the name of its variation: `up`, `down`, `prefit_up`, `prefit_down`.",
            ));
        object
            .property("reasons", reasons)
            .required("reasons")
            .description(Some("The impacts of one nuisance parameter by one definition."))
            .into()
    }
}

impl ToSchema for Impacts {}
