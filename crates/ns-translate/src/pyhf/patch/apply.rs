//! Applies JSON Patch operations (RFC 6902), with limits on the depth and size of the result.

use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{PatchOperation, TestOperation};
use serde::Deserialize as _;
use serde_json::Value;

use crate::pyhf::diagnose::explain_syntax;
use crate::pyhf::error::WorkspaceError;

/// Largest nesting depth at which an operation may write a value. For a copied or moved value, the depth of the value
/// itself is added. The JSON parser limits the depth of all other values. The depth of the result, and so of every
/// later recursion, is therefore limited.
const DEEPEST: usize = 127;

/// Memory, in bytes, that the `copy` operations of all patches of a document may need together unless the caller gives
/// another limit. Each operation can double a document.
pub(super) const MOST_COPIED: u64 = 500_000_000;

/// Memory of a JSON value itself, of an object with few keys, and of an entry of an object, in bytes. The values have
/// been measured with more than one allocator and are rounded up.
const VALUE: u64 = 32;
const OBJECT: u64 = 640;
const ENTRY: u64 = 96;

/// The memory that copies have needed so far, and the largest memory that they may need, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copies {
    made: u64,
    limit: u64,
}

impl Copies {
    /// Returns a count of copies that may need `limit` bytes together.
    pub(crate) fn up_to(limit: u64) -> Self {
        Self { made: 0, limit }
    }
}

/// Reasons why an operation is refused before it is applied.
enum Refused {
    /// A value would be nested too deeply.
    TooDeep,
    /// The copies would need more memory than they may need.
    TooLarge { needed: u64, limit: u64 },
}

/// Builds the error for a syntax error in a patch or patchset, with the name of the file.
pub(crate) fn syntax_error(text: &[u8], error: &serde_json::Error, origin: &str) -> WorkspaceError {
    match explain_syntax(text, error) {
        WorkspaceError::Syntax { line, column, message, remedy, .. } => WorkspaceError::Patch {
            origin: origin.to_owned(),
            message: format!("It is not valid JSON at line {line}, column {column}: {message}"),
            remedy,
        },
        other => other,
    }
}

/// Converts a JSON array of operations to a patch.
pub(crate) fn read_operations(value: &Value, origin: &str) -> Result<json_patch::Patch, WorkspaceError> {
    let error = |message: String, remedy: &str| WorkspaceError::Patch {
        origin: origin.to_owned(),
        message,
        remedy: remedy.to_owned(),
    };
    let Value::Array(items) = value else {
        return Err(error(
            "A JSON Patch is an array of operations, but this is something else.".to_owned(),
            "Give a JSON Patch or a patchset.",
        ));
    };
    let mut operations = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let operation = PatchOperation::deserialize(item).map_err(|reason| {
            error(
                format!("Operation {i} (counted from 0) is not one of JSON Patch: {reason}."),
                "An operation has op (add, remove, replace, move, copy or test), path, and value or from.",
            )
        })?;
        operations.push(operation);
    }
    Ok(json_patch::Patch(operations))
}

/// Applies `patch` to `document`. `copies` counts the memory of what the operations copy.
pub(crate) fn apply(
    patch: &json_patch::Patch,
    document: &mut Value,
    origin: &str,
    copies: &mut Copies,
) -> Result<(), WorkspaceError> {
    for (i, operation) in patch.iter().enumerate() {
        let failed = |reason: &str, remedy: &str| {
            let what = describe(operation);
            WorkspaceError::Patch {
                origin: origin.to_owned(),
                message: format!("Operation {i} (counted from 0), {what}, cannot be applied: {reason}."),
                remedy: remedy.to_owned(),
            }
        };
        let error = |reason: &str| failed(reason, OTHER_WORKSPACE);
        check_limits(operation, document, copies).map_err(|refused| match refused {
            Refused::TooDeep => error("it nests more than 127 levels deep, and a workspace needs ten"),
            Refused::TooLarge { needed, limit } => failed(
                &format!(
                    "the copies up to here need {needed} bytes of memory, more than the {limit} allowed"
                ),
                "Copy less, or give the patched workspace instead of the patch.",
            ),
        })?;
        if let PatchOperation::Test(test) = operation {
            check_value(document, test).map_err(|reason| error(&reason))?;
            continue;
        }
        json_patch::patch_unsafe(document, std::slice::from_ref(operation))
            .map_err(|reason| error(&reason.kind.to_string()))?;
    }
    Ok(())
}

/// Remedy for operations that do not fit the document.
const OTHER_WORKSPACE: &str =
    "Check that the patch belongs to this workspace and that patches are given in the right order.";

/// Checks that the value at the path of a `test` operation is the value that the operation expects.
fn check_value(document: &Value, test: &TestOperation) -> Result<(), String> {
    match document.pointer(test.path.as_str()) {
        None => Err("nothing is there".to_owned()),
        Some(found) if is_equal(found, &test.value) => Ok(()),
        Some(Value::Array(_) | Value::Object(_)) => Err("the value there is another one".to_owned()),
        Some(found) => Err(format!("the value there is {found}, not {}", brief(&test.value))),
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        simple => simple.to_string(),
    }
}

/// Returns whether two JSON values are equal by RFC 6902, section 4.6: numbers by their value, so 5 equals 5.0.
/// The crate for patches compares how numbers are written.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (one, other) => one == other,
    }
}

/// Returns the number if it is written as an integer.
fn integer(number: &serde_json::Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn describe(operation: &PatchOperation) -> String {
    let verb = match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => "test",
    };
    let path = operation.path().as_str();
    let path: String = path.chars().take(200).collect();
    format!("{verb} at '{path}'")
}

/// Returns an error if an operation would make the document too deep or too large. The size of a copy is computed before
/// the copy is made, and added to `copies`.
fn check_limits(operation: &PatchOperation, document: &Value, copies: &mut Copies) -> Result<(), Refused> {
    let deep = |path: &PointerBuf| path.count() > DEEPEST;
    if deep(&operation.path().to_buf()) {
        return Err(Refused::TooDeep);
    }
    let from: &Pointer = match operation {
        PatchOperation::Copy(op) => &op.from,
        PatchOperation::Move(op) => &op.from,
        _ => return Ok(()),
    };
    let Some(source) = document.pointer(from.as_str()) else { return Ok(()) };
    let (bytes, depth) = measure(source);
    if depth + operation.path().count() > DEEPEST {
        return Err(Refused::TooDeep);
    }
    if matches!(operation, PatchOperation::Copy(_)) {
        copies.made = copies.made.saturating_add(bytes);
        if copies.made > copies.limit {
            return Err(Refused::TooLarge { needed: copies.made, limit: copies.limit });
        }
    }
    Ok(())
}

/// Returns the memory of a JSON tree in bytes, and the depth of the tree. A single value has the depth 1.
fn measure(value: &Value) -> (u64, usize) {
    let below = |own: u64, children: &mut dyn Iterator<Item = (u64, &Value)>| {
        children.fold((own, 1), |(bytes, depth), (key, child)| {
            let (more, deep) = measure(child);
            (bytes + key + more, depth.max(deep + 1))
        })
    };
    match value {
        Value::Array(items) => below(VALUE, &mut items.iter().map(|item| (0, item))),
        Value::Object(map) => {
            below(VALUE + OBJECT, &mut map.iter().map(|(key, item)| (ENTRY + key.len() as u64, item)))
        }
        Value::String(text) => (VALUE + text.len() as u64, 1),
        _ => (VALUE, 1),
    }
}
