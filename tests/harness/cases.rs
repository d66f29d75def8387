//! The conformance cases in `data/http1_cases.json`; its `meta` object describes the format.

use serde_json::Value;

/// One byte string and the outcomes that it may have.
pub struct Case {
    /// Its name, unique in the file.
    pub id: String,
    /// What it is about.
    pub group: String,
    /// What the peer sends.
    pub bytes: Vec<u8>,
    /// The sender half-closes after the last byte.
    pub eof: bool,
    /// The outcome must not depend on the segments, at every two-way cut.
    pub split_every: bool,
    /// Offsets at which the sender waits for the next response, or for silence.
    pub pause_at: Vec<usize>,
    /// The outcome as the file has it.
    pub expect: Value,
    /// Response side: how many requests wait for an answer.
    pub outstanding: usize,
    /// Response side: the method of those requests.
    pub method: String,
}

/// A whole outcome that a case allows on the request side.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The statuses of all responses in order; any in the inner list will do.
    pub responses: Vec<Vec<u64>>,
    /// Any of `keep`, `close` and `open`, separated by `|`.
    pub connection: String,
    /// What the first final response carries, where it is a success.
    pub body: Option<Vec<u8>>,
}

/// All cases of one side, `request` or `response`, without those that need a static file server.
pub fn load(side: &str) -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../data/http1_cases.json")).expect("the cases are JSON");
    let cases = file["cases"].as_array().expect("the cases are a list").iter();
    let cases: Vec<Case> = cases.filter(|case| case["side"] == side).flat_map(with_neighbours).collect();
    assert!(cases.len() > 70, "only {} cases on the {side} side", cases.len());
    cases.into_iter().filter(|case| !case.group.starts_with("static-")).collect()
}

/// A case, and for one that puts an edge of a message on the edge of a buffer also its neighbours.
fn with_neighbours(entry: &Value) -> Vec<Case> {
    let at_edge = text(&entry["id"]).contains("buffer");
    let shifts = if at_edge { -3..=3 } else { 0..=0 };
    shifts.map(|shift| case(entry, shift)).collect()
}

fn case(entry: &Value, shift: i64) -> Case {
    let count = entry["fill"]["count"].as_u64().map(|count| count.checked_add_signed(shift).expect("count is large"));
    let unit = text(&entry["fill"]["unit"]);
    let mut bytes = text(&entry["bytes"]).replace("{{FILL}}", &unit.repeat(count.unwrap_or(0) as usize));
    if let (Some(count), Some(len)) = (count, entry["expect"]["body_len"].as_u64()) {
        bytes = bytes.replace(&format!("Content-Length: {len}\r"), &format!("Content-Length: {count}\r"));
    }
    let id = text(&entry["id"]);
    Case {
        id: if shift == 0 { id } else { format!("{id} {shift:+}") },
        group: text(&entry["group"]),
        bytes: octets(&bytes),
        eof: entry["eof"] == true,
        split_every: entry["split"] == "every",
        pause_at: entry["pause_at"].as_array().into_iter().flatten().map(|at| number(at) as usize).collect(),
        expect: entry["expect"].clone(),
        outstanding: entry["outstanding"].as_u64().unwrap_or(0) as usize,
        method: text(&entry["method"]),
    }
}

impl Case {
    /// Every outcome that a server may choose for this request stream.
    pub fn accepted(&self) -> Vec<Accepted> {
        let expect = &self.expect;
        let connection = text(&expect["connection"]);
        let body = expect["body"].as_str().map(octets);
        let mut accepted = Vec::new();
        if let Some(responses) = expect["responses"].as_array() {
            let responses = responses.iter().map(alternatives).collect();
            accepted.push(Accepted { responses, connection, body });
        } else {
            accepted.extend(self.single(&connection, body));
        }
        let tolerated = expect["tolerated"].as_array().into_iter().flatten();
        accepted.extend(tolerated.map(|other| Accepted {
            responses: other["responses"].as_array().into_iter().flatten().map(alternatives).collect(),
            connection: text(&other["connection"]),
            body: None,
        }));
        accepted
    }

    /// Outcomes with one response or none. A success in place of a refusal leaves the connection open to
    /// choice, unless the case insists on its end.
    fn single(&self, connection: &str, body: Option<Vec<u8>>) -> Vec<Accepted> {
        let statuses = match &self.expect["status"] {
            Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        let outcome = |status: &Value| {
            let Some(status) = status.as_u64() else {
                return Accepted { responses: vec![], connection: connection.to_owned(), body: None };
            };
            let success = status < 300;
            let freed = success && self.expect["error"].is_string() && self.expect["must_close"] != true;
            Accepted {
                responses: vec![vec![status]],
                connection: if freed { "keep|close".to_owned() } else { connection.to_owned() },
                body: body.clone().filter(|_| success),
            }
        };
        statuses.iter().map(outcome).collect()
    }
}

fn alternatives(statuses: &Value) -> Vec<u64> {
    match statuses {
        Value::Array(list) => list.iter().map(number).collect(),
        one => vec![number(one)],
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Each char of a string in the file is one octet.
fn octets(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).expect("chars in the cases are octets")).collect()
}
