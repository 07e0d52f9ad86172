//! Enough of JSON Schema to hold the program to `docs/schema`: types, constants, enumerations,
//! required members, arrays, references, `anyOf` and `allOf`. A keyword that is not understood
//! fails the test.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The schema `docs/schema/NAME`.
pub fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/schema")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Panics with the place when `value` does not follow the schema `docs/schema/NAME`.
pub fn check(value: &Value, name: &str) {
    let mut faults = Vec::new();
    follow(value, &load(name), name, "$", &mut faults);
    assert!(
        faults.is_empty(),
        "{name}:\n{}\n{value:#}",
        faults.join("\n")
    );
}

fn follow(value: &Value, schema: &Value, file: &str, at: &str, faults: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().unwrap() {
        let mut fault = |what: &str| faults.push(format!("{at}: {what} {rule}, found {value}"));
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "const" => {
                if value != rule {
                    fault("must be");
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    fault("must be one of");
                }
            }
            "type" => {
                if !has_type(value, rule) {
                    fault("must be of type");
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        faults.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        follow(member, schema, file, &format!("{at}.{name}"), faults);
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    follow(item, rule, file, &format!("{at}[{index}]"), faults);
                }
            }
            "minItems" => {
                if length(value) < rule.as_u64() {
                    fault("must have at least as many items as");
                }
            }
            "maxItems" => {
                if length(value) > rule.as_u64() {
                    fault("must have at most as many items as");
                }
            }
            "$ref" => {
                let (file, schema) = resolve(rule.as_str().unwrap(), file);
                follow(value, &schema, &file, at, faults);
            }
            "allOf" => {
                for schema in rule.as_array().unwrap() {
                    follow(value, schema, file, at, faults);
                }
            }
            "anyOf" => {
                let fits = rule.as_array().unwrap().iter().any(|schema| {
                    let mut inner = Vec::new();
                    follow(value, schema, file, at, &mut inner);
                    inner.is_empty()
                });
                if !fits {
                    fault("must follow one of");
                }
            }
            other => panic!("{file}: the check does not know `{other}`"),
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn has_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    };
    match rule.as_array() {
        Some(names) => names.iter().any(is),
        None => is(rule),
    }
}

/// `[FILE]#/POINTER`.
fn resolve(reference: &str, file: &str) -> (String, Value) {
    let (other, pointer) = reference.split_once('#').unwrap();
    let file = if other.is_empty() { file } else { other };
    let schema = load(file).pointer(pointer).unwrap().clone();
    (file.to_owned(), schema)
}
