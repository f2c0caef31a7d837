//! The OpenAPI description of the server, generated from the types of its requests and responses.

use ns_viz::Format;
use serde::de::DeserializeOwned;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, PathsBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
    Schema,
};
use utoipa::{PartialSchema, ToSchema};

use super::info::Health;
use super::models::{ModelAnswer, ModelRequest};
use super::schema::schema_of;
use crate::analyses::{Analysis, each_analysis};
use crate::jobs::JobStatus;
use crate::picture;
use crate::problem::Problem;
use crate::results::{self, Devices};

/// Collects the schemas that the paths refer to.
#[derive(Default)]
struct Schemas(Vec<(String, RefOr<Schema>)>);

impl Schemas {
    /// Adds the schema of a type and of all types that it uses. Returns a reference to the schema.
    fn of<T: ToSchema + PartialSchema>(&mut self) -> Ref {
        T::schemas(&mut self.0);
        self.0.push((T::name().into_owned(), T::schema()));
        Ref::from_schema_name(T::name())
    }

    /// Adds the schema of a request body, including the keys of its `options`. Returns a reference to the schema.
    fn refined<T: ToSchema + PartialSchema + DeserializeOwned>(&mut self) -> Ref {
        let reference = self.of::<T>();
        if let Some((_, schema)) = self.0.last_mut() {
            refine(schema, schema_of::<T>());
        }
        reference
    }
}

/// Completes `schema`, the declared schema of a type. `read` is the schema that was found by deserialising the
/// type. A property of `schema` that is an object without known keys is replaced by the property of the same name
/// in `read`.
fn refine(schema: &mut RefOr<Schema>, read: Schema) {
    if let (RefOr::T(Schema::Object(object)), Schema::Object(read)) = (schema, read) {
        for (key, property) in read.properties {
            let open = |old: &RefOr<Schema>| {
                matches!(old, RefOr::T(Schema::Object(object)) if object.properties.is_empty()
                    && serde_json::to_value(object).is_ok_and(|value| value["type"].to_string().contains("object")))
            };
            if let Some(old) = object.properties.get_mut(&key).filter(|old| open(old)) {
                *old = property;
            }
        }
    }
}

fn json(schema: Ref) -> utoipa::openapi::Content {
    ContentBuilder::new().schema(Some(schema)).build()
}

fn described(text: &str) -> Response {
    ResponseBuilder::new().description(text).build()
}

fn answers(text: &str, schema: Ref) -> Response {
    ResponseBuilder::new().description(text).content("application/json", json(schema)).build()
}

/// Returns the description of an operation. Its error responses are problem details.
fn operation(summary: &str, schemas: &mut Schemas) -> OperationBuilder {
    let problem = ResponseBuilder::new()
        .description("Problem details with the JSON pointers of all mistakes")
        .content("application/problem+json", json(schemas.of::<Problem>()));
    OperationBuilder::new().summary(Some(summary)).response("default", problem.build())
}

fn word(name: &str, place: ParameterIn, about: &str, values: Option<&[&str]>) -> ParameterBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text = text.enum_values(values.map(<[&str]>::to_vec));
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    let parameter = ParameterBuilder::new().name(name).parameter_in(place).required(required);
    parameter.description(Some(about)).schema(Some(text))
}

fn posted(body: Ref) -> utoipa::openapi::request_body::RequestBody {
    RequestBodyBuilder::new().content("application/json", json(body)).required(Some(Required::True)).build()
}

/// Returns the description of the operation for an analysis.
fn analysis<A: Analysis + ToSchema>(schemas: &mut Schemas) -> PathItem {
    let summary = format!("Makes the analysis {}", A::NAME);
    let plot = word(
        "plot",
        ParameterIn::Query,
        "Picture that is wanted instead of JSON",
        Some(&["svg", "png", "pdf"]),
    );
    let body = posted(schemas.refined::<A>());
    let mut result = ResponseBuilder::new()
        .description("What the command line writes, or the picture")
        .content(picture::JSON, json(Ref::from_schema_name(results::name_of(A::NAME))));
    for format in [Format::Svg, Format::Png, Format::Pdf] {
        result = result.content(picture::media(format), ContentBuilder::new().build());
    }
    let job = answers(
        "A job, because the request takes long; its place is in `Location`",
        schemas.of::<JobStatus>(),
    );
    let operation = operation(&summary, schemas)
        .operation_id(Some(A::NAME))
        .parameter(plot)
        .request_body(Some(body))
        .response("200", result.build())
        .response("202", job);
    PathItem::new(HttpMethod::Post, operation)
}

/// Returns the description of all paths.
pub(super) fn document() -> OpenApi {
    let mut schemas = Schemas::default();
    let mut paths = PathsBuilder::new();
    macro_rules! add {
        ($($body:ty),*) => {
            $(paths = paths.path(format!("/v1/{}", <$body>::NAME), analysis::<$body>(&mut schemas));)*
        };
    }
    each_analysis!(add);
    let add = operation("Keeps a model for later requests", &mut schemas)
        .request_body(Some(posted(schemas.of::<ModelRequest>())))
        .response("200", answers("The digests of the model", schemas.of::<ModelAnswer>()));
    paths = paths.path("/v1/models", PathItem::new(HttpMethod::Post, add));
    let id = || word("id", ParameterIn::Path, "Name of the job", None);
    let state = |schemas: &mut Schemas| answers("The state of the job", schemas.of::<JobStatus>());
    let list = operation("Lists the jobs of the client", &mut schemas)
        .response("200", described("The states of the jobs, the oldest first"));
    paths = paths.path("/v1/jobs", PathItem::new(HttpMethod::Get, list));
    let status = operation("The state of a job", &mut schemas).parameter(id());
    let mut item = PathItem::new(HttpMethod::Get, status.response("200", state(&mut schemas)));
    let cancel = operation("Cancels a job; the finished part stays", &mut schemas).parameter(id());
    item.delete = Some(cancel.response("200", state(&mut schemas)).build());
    paths = paths.path("/v1/jobs/{id}", item);
    for (path, summary, answer) in [
        ("/v1/jobs/{id}/result", "The result of a job", "The answer to its request"),
        (
            "/v1/jobs/{id}/events",
            "The progress of a job as server-sent events",
            "Events `progress` and `end`",
        ),
    ] {
        let mut operation =
            operation(summary, &mut schemas).parameter(id()).response("200", described(answer));
        if path.ends_with("result") {
            let about = "Whether the result of the finished toys is wanted while the job runs";
            operation =
                operation.parameter(word("partial", ParameterIn::Query, about, Some(&["true", "false"])));
        }
        paths = paths.path(path, PathItem::new(HttpMethod::Get, operation));
    }
    let health = operation("Says that the server answers", &mut schemas)
        .response("200", answers("The server answers", schemas.of::<Health>()));
    paths = paths.path("/v1/health", PathItem::new(HttpMethod::Get, health));
    let about = "The devices that fits can run on";
    let devices = answers(about, Ref::from_schema_name(Devices::name()));
    let operation_of_devices = operation(about, &mut schemas).response("200", devices);
    paths = paths.path("/v1/devices", PathItem::new(HttpMethod::Get, operation_of_devices));
    for (path, summary) in [
        ("/metrics", "Counts and times in the text format of Prometheus"),
        ("/results.schema.json", "JSON schemas of all results in one document"),
    ] {
        let operation = operation(summary, &mut schemas).response("200", described(summary));
        paths = paths.path(path, PathItem::new(HttpMethod::Get, operation));
    }
    let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = ComponentsBuilder::new().schemas_from_iter(schemas.0).security_scheme("token", token);
    let info = InfoBuilder::new().title("nextstat-server").version(env!("CARGO_PKG_VERSION"));
    OpenApiBuilder::new().info(info).paths(paths).components(Some(components.build())).build()
}
