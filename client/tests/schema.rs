//! The JSON report against its schema, by a validator that knows just the keywords that the schema uses.

mod common;

use common::{OK, Server, refusing, run};
use ringshot_client::report::json;
use serde_json::Value;

/// Appends what is wrong with `value`, each fault with its place.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
        return validate(root, &root["$defs"][name], value, at, faults);
    }
    let mut fault = |words: String| faults.push(format!("{at}: {words}"));
    if schema.get("const").is_some_and(|fixed| fixed != value) {
        fault(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        fault(format!("{value} is none of {}", schema["enum"]));
    }
    if !has_type(&schema["type"], value) {
        fault(format!("{value} is not of type {}", schema["type"]));
    }
    let number = value.as_f64().unwrap_or(0.0);
    if schema["minimum"].as_f64().is_some_and(|min| number < min)
        || schema["maximum"].as_f64().is_some_and(|max| number > max)
    {
        fault(format!("{value} is out of bounds"));
    }
    if let Some(object) = value.as_object() {
        let known = schema["properties"].as_object();
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                fault(format!("{name} is missing"));
            }
        }
        for (name, inner) in object {
            match known.and_then(|known| known.get(name)) {
                Some(schema) => validate(root, schema, inner, &format!("{at}/{name}"), faults),
                None if schema["additionalProperties"] == false => {
                    faults.push(format!("{at}: {name} is not in the schema"))
                }
                None => {}
            }
        }
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        validate(root, &schema["items"], item, &format!("{at}/{n}"), faults);
    }
}

fn has_type(expected: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match expected {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn faults(report: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(json::SCHEMA).expect("the schema is JSON");
    let mut faults = Vec::new();
    validate(&schema, &schema, report, "", &mut faults);
    faults
}

#[test]
fn reports_of_good_and_of_bad_runs_keep_to_the_schema() {
    for url in [Server::answering(OK).url(), refusing()] {
        let text = json::render(&run(&url, 2, 20)).expect("serialises");
        let report: Value = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(faults(&report), Vec::<String>::new());
        assert!(text.ends_with("}\n"));
    }
}

#[test]
fn the_validator_finds_faults() {
    let good = serde_json::to_value(run(&Server::answering(OK).url(), 1, 5)).expect("serialises");
    let changes: [(&str, Value); 5] = [
        ("/requests/started", Value::from(-1)),
        ("/requests/started", Value::from("5")),
        ("/ending", Value::from("done")),
        ("/schema_version", Value::from(2)),
        ("/latency/quantiles/0/q", Value::from(1.5)),
    ];
    for (at, wrong) in changes {
        let mut bad = good.clone();
        *bad.pointer_mut(at).expect("there") = wrong;
        assert!(faults(&bad).iter().any(|fault| fault.starts_with(at)), "{at}: {:?}", faults(&bad));
    }
    let mut bad = good;
    bad.as_object_mut().expect("object").insert("more".to_owned(), Value::Null);
    bad["rate"].as_object_mut().expect("object").remove("ok_per_s");
    assert_eq!(faults(&bad).len(), 2, "{:?}", faults(&bad));
}
