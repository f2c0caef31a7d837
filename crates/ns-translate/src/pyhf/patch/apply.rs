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

/// Largest number of values that all `copy` operations of one patch may create together. Each operation can
/// double a document.
const MOST_COPIED: usize = 5_000_000;

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

/// Applies `patch` to `document`.
pub(crate) fn apply(
    patch: &json_patch::Patch,
    document: &mut Value,
    origin: &str,
) -> Result<(), WorkspaceError> {
    let mut copied = 0;
    for (i, operation) in patch.iter().enumerate() {
        let error = |reason: &str| {
            WorkspaceError::Patch {
            origin: origin.to_owned(),
            message: format!("Operation {i} (counted from 0), {}, cannot be applied: {reason}.", describe(operation)),
            remedy: "Check that the patch belongs to this workspace and that patches are given in the right order."
                .to_owned(),
        }
        };
        check_limits(operation, document, &mut copied).map_err(error)?;
        if let PatchOperation::Test(test) = operation {
            check_value(document, test).map_err(|reason| error(&reason))?;
            continue;
        }
        json_patch::patch_unsafe(document, std::slice::from_ref(operation))
            .map_err(|reason| error(&reason.kind.to_string()))?;
    }
    Ok(())
}

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

/// Returns an error if an operation would make the document too deep or too large. `copied` counts the values that
/// all `copy` operations have created so far, and is increased.
fn check_limits(
    operation: &PatchOperation,
    document: &Value,
    copied: &mut usize,
) -> Result<(), &'static str> {
    const TOO_DEEP: &str = "it nests more than 127 levels deep, and a workspace needs ten";
    let deep = |path: &PointerBuf| path.count() > DEEPEST;
    if deep(&operation.path().to_buf()) {
        return Err(TOO_DEEP);
    }
    let from: &Pointer = match operation {
        PatchOperation::Copy(op) => &op.from,
        PatchOperation::Move(op) => &op.from,
        _ => return Ok(()),
    };
    let Some(source) = document.pointer(from.as_str()) else { return Ok(()) };
    let (size, depth) = measure(source);
    if depth + operation.path().count() > DEEPEST {
        return Err(TOO_DEEP);
    }
    if matches!(operation, PatchOperation::Copy(_)) {
        *copied += size;
        if *copied > MOST_COPIED {
            return Err("the patch copies more than 5 million values");
        }
    }
    Ok(())
}

/// Returns the number of values in a JSON tree, and the depth of the tree. A single value has the depth 1.
fn measure(value: &Value) -> (usize, usize) {
    let below = |children: &mut dyn Iterator<Item = &Value>| {
        children.map(measure).fold((1, 1), |(size, depth), (s, d)| (size + s, depth.max(d + 1)))
    };
    match value {
        Value::Array(items) => below(&mut items.iter()),
        Value::Object(map) => below(&mut map.values()),
        _ => (1, 1),
    }
}
