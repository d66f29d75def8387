//! Every case of `tests/data/http1_cases.json` that doesn't need a file server, on the bare codec: whole, at every
//! two-way split and byte by byte, on every scan back end. Around the codec there is only what a case needs to be
//! decided: a fixture that knows `/ok` and `/echo`, and a count of the requests that wait for an answer.

use ringshot_http1::{
    Body, Decoder, Error, Kind, Limits, Method, NoFields, Parse, RequestHead, Resume, TargetForm, back_end, request,
    response,
};
use serde_json::Value;

/// What came of a byte stream, the same however it was cut.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    statuses: Vec<u64>,
    /// The first body.
    body: Option<Vec<u8>>,
    framing: &'static str,
    /// Kind and offset in the whole stream.
    error: Option<(&'static str, usize)>,
    unsolicited: bool,
    /// `keep`, `close`, `open`, `upgrade` or `tunnel`.
    end: &'static str,
}

/// What both ends of a connection share: unread bytes, the decoder of a body that isn't complete, and the outcome.
struct Reader {
    limits: Limits,
    unread: Vec<u8>,
    read: usize,
    resume: Resume,
    decoder: Option<Decoder>,
    body: Vec<u8>,
    outcome: Outcome,
}

impl Reader {
    fn new(limits: Limits) -> Self {
        let (unread, resume, outcome) = (Vec::new(), Resume::default(), Outcome::default());
        Self { limits, unread, read: 0, resume, decoder: None, body: Vec::new(), outcome }
    }

    fn ended(&self) -> bool {
        self.outcome.error.is_some() || matches!(self.outcome.end, "close" | "upgrade" | "tunnel")
    }

    fn consume(&mut self, len: usize) {
        self.unread.drain(..len);
        self.read += len;
    }

    fn refuse(&mut self, error: Error) {
        self.outcome.error = Some((error.kind.name(), self.read + error.at as usize));
        self.outcome.end = "close";
    }

    /// Reads body octets; whether the body is complete.
    fn read_body(&mut self) -> bool {
        let Some(mut decoder) = self.decoder.take() else { return true };
        while !decoder.is_done() && !self.unread.is_empty() {
            match decoder.step(&self.unread) {
                Ok(step) => {
                    self.body.extend_from_slice(&self.unread[step.data.clone()]);
                    self.consume(step.consumed);
                }
                Err(error) => {
                    self.refuse(error);
                    return false;
                }
            }
        }
        let done = decoder.is_done();
        self.decoder = Some(decoder).filter(|_| !done);
        done
    }

    fn end_body(&mut self) {
        let body = std::mem::take(&mut self.body);
        self.outcome.body.get_or_insert(body);
    }

    /// Where the stream stands when nothing more comes.
    fn settle(&mut self, idle: bool) {
        if !self.ended() {
            self.outcome.end = if idle { "keep" } else { "open" };
        }
    }
}

struct Server {
    reader: Reader,
    head: Option<RequestHead>,
    path: Vec<u8>,
}

impl Server {
    fn run(pieces: &[&[u8]], eof: bool) -> Outcome {
        let mut server = Self { reader: Reader::new(Limits::DEFAULT), head: None, path: Vec::new() };
        for piece in pieces {
            server.reader.unread.extend_from_slice(piece);
            while !server.reader.ended() && server.advance() {}
        }
        let idle = server.reader.unread.is_empty() && server.head.is_none();
        if eof && !server.reader.ended() {
            if idle {
                server.reader.outcome.error = Some(("clean-close", server.reader.read));
            } else {
                server.reader.refuse(Error { kind: Kind::UnexpectedEof, at: server.reader.unread.len() as u32 });
            }
            server.reader.outcome.end = "close";
        }
        server.reader.settle(idle && !server.reader.outcome.statuses.is_empty());
        server.reader.outcome
    }

    /// One head or one stretch of body; whether there may be more.
    fn advance(&mut self) -> bool {
        if let Some(head) = self.head {
            if self.reader.read_body() {
                self.answer(head);
                return true;
            }
            if let Some((name, _)) = self.reader.outcome.error {
                self.answer_error(name);
            }
            return false;
        }
        let reader = &mut self.reader;
        match request(&reader.unread, &mut reader.resume, &reader.limits, &mut NoFields) {
            Ok(Parse::More) => false,
            Ok(Parse::Done(head)) => {
                self.path = head.path.of(&reader.unread).to_vec();
                reader.decoder = Some(Decoder::new(head.body, &reader.limits));
                reader.consume(head.len as usize);
                self.head = Some(head);
                true
            }
            Err(error) => {
                reader.refuse(error);
                self.answer_error(error.kind.name());
                false
            }
        }
    }

    fn answer_error(&mut self, name: &str) {
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name).expect("the codec's own kind");
        self.reader.outcome.statuses.push(kind.status().into());
    }

    fn answer(&mut self, head: RequestHead) {
        self.head = None;
        self.reader.end_body();
        let status = match (&self.path[..], head.method) {
            (_, Method::Connect | Method::Other) => 501,
            (_, Method::Trace) => 405,
            _ if head.form == TargetForm::Asterisk => 200,
            (b"/ok", Method::Get | Method::Head | Method::Options) | (b"/echo", _) => 200,
            (b"/ok", _) => 405,
            _ => 404,
        };
        self.reader.outcome.statuses.push(status);
        if !head.keep_alive() || head.method == Method::Connect {
            self.reader.outcome.end = "close";
        }
    }
}

struct Client {
    reader: Reader,
    method: Method,
    outstanding: usize,
    interim: u8,
    keep_alive: bool,
}

impl Client {
    fn run(pieces: &[&[u8]], eof: bool, method: Method, outstanding: usize) -> Outcome {
        let reader = Reader::new(Limits::DEFAULT);
        let mut client = Self { reader, method, outstanding, interim: 0, keep_alive: true };
        for piece in pieces {
            client.reader.unread.extend_from_slice(piece);
            while !client.reader.ended() && client.advance() {}
        }
        if eof && !client.reader.ended() {
            client.end_of_input();
        }
        let idle = client.outstanding == 0 && client.reader.unread.is_empty();
        client.reader.settle(idle);
        client.reader.outcome
    }

    fn advance(&mut self) -> bool {
        if self.reader.decoder.is_some() {
            return self.reader.read_body() && self.end_response();
        }
        if self.outstanding == 0 {
            return self.discard();
        }
        let reader = &mut self.reader;
        match response(&reader.unread, &mut reader.resume, &reader.limits, self.method, &mut NoFields) {
            Ok(Parse::More) => false,
            Ok(Parse::Done(head)) => {
                reader.consume(head.len as usize);
                if head.is_interim() {
                    return self.count_interim();
                }
                self.interim = 0;
                self.keep_alive = head.keep_alive();
                self.begin_body(head.status, head.body)
            }
            Err(error) => {
                reader.refuse(error);
                false
            }
        }
    }

    fn begin_body(&mut self, status: u16, body: Body) -> bool {
        let outcome = &mut self.reader.outcome;
        outcome.statuses.push(status.into());
        if outcome.framing.is_empty() {
            outcome.framing = match body {
                Body::None => "none",
                Body::Length(_) => "length",
                Body::Chunked => "chunked",
                Body::UntilClose => "close",
                Body::Tunnel if status == 101 => "upgrade",
                Body::Tunnel => "tunnel",
            };
        }
        if body == Body::Tunnel {
            outcome.body.get_or_insert_default();
            outcome.end = outcome.framing;
            return false;
        }
        self.reader.decoder = Some(Decoder::new(body, &self.reader.limits));
        true
    }

    fn count_interim(&mut self) -> bool {
        self.interim += 1;
        if self.interim > self.reader.limits.interim {
            self.reader.refuse(Error { kind: Kind::TooManyInterim, at: 0 });
        }
        true
    }

    fn end_response(&mut self) -> bool {
        self.reader.end_body();
        self.outstanding -= 1;
        if !self.keep_alive {
            self.reader.outcome.end = "close";
        }
        true
    }

    /// Bytes that nobody asked for: one stray CR LF is harmless, all else ends the connection.
    fn discard(&mut self) -> bool {
        match &self.reader.unread[..] {
            [] | b"\r" => return false,
            b"\r\n" => self.reader.consume(2),
            _ => {
                self.reader.outcome.unsolicited = true;
                self.reader.outcome.end = "close";
            }
        }
        false
    }

    fn end_of_input(&mut self) {
        if let Some(mut decoder) = self.reader.decoder.take() {
            match decoder.eof() {
                Ok(()) => {
                    self.end_response();
                }
                Err(error) => self.reader.refuse(error),
            }
        } else if self.outstanding > 0 {
            self.reader.refuse(Error { kind: Kind::UnexpectedEof, at: 0 });
        }
        self.reader.outcome.end = "close";
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn octets(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).expect("one octet a char")).collect()
}

fn bytes(case: &Value) -> Vec<u8> {
    let fill = &case["fill"];
    let filling = text(&fill["unit"]).repeat(fill["count"].as_u64().unwrap_or(0) as usize);
    octets(&text(&case["bytes"]).replace("{{FILL}}", &filling))
}

fn run(case: &Value, pieces: &[&[u8]]) -> Outcome {
    let eof = case["eof"] == true;
    if case["side"] == "request" {
        return Server::run(pieces, eof);
    }
    let outstanding = case["outstanding"].as_u64().expect("a number") as usize;
    Client::run(pieces, eof, Method::of(text(&case["method"]).as_bytes()), outstanding)
}

/// What the outcome has that the case doesn't allow.
fn objection(case: &Value, outcome: &Outcome) -> Option<String> {
    let expect = &case["expect"];
    let tolerated = expect["tolerated"].as_array().into_iter().flatten();
    let tolerated = tolerated.into_iter().any(|other| {
        matches_statuses(&other["responses"], &outcome.statuses) && ends(&other["connection"], outcome.end)
    });
    if tolerated {
        return None;
    }
    if let Some(kind) = expect["error"].as_str() {
        return error_objection(case, kind, outcome);
    }
    if let Some((kind, at)) = outcome.error
        && case["side"] == "response"
    {
        return Some(format!("refused: {kind} at {at}"));
    }
    if expect["partial"] == true {
        let complete = !outcome.statuses.is_empty() && case["side"] == "request";
        return (complete || outcome.end != "open").then(|| "should wait".to_owned());
    }
    success_objection(case, outcome)
}

fn error_objection(case: &Value, kind: &str, outcome: &Outcome) -> Option<String> {
    let expect = &case["expect"];
    let allowed = match &expect["status"] {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    let success = outcome.statuses.first().filter(|&&status| status < 300);
    if let (Some(status), None) = (success, outcome.error) {
        let tolerated = allowed.iter().any(|one| one == status);
        let freed = expect["must_close"] != true || outcome.end == "close";
        return (!tolerated || !freed).then(|| "accepted".to_owned());
    }
    // What the server decides and not the codec has no kind here, but a status.
    if outcome.error.is_some_and(|(name, _)| name != kind) {
        return Some(format!("another mistake than {kind}"));
    }
    let status = outcome.statuses.last().map_or(Value::Null, |&status| status.into());
    if case["side"] == "request" && !allowed.contains(&status) {
        return Some(format!("status {status}"));
    }
    (!ends(&expect["connection"], outcome.end)).then(|| "connection".to_owned())
}

fn success_objection(case: &Value, outcome: &Outcome) -> Option<String> {
    let expect = &case["expect"];
    let one = match &expect["status"] {
        Value::Array(all) => Value::Array(vec![Value::Array(all.clone())]),
        one => Value::Array(vec![one.clone()]),
    };
    let statuses = if expect["responses"].is_array() { &expect["responses"] } else { &one };
    if case["outstanding"] == 0 {
        // Nobody asked, so whether it is read before the connection is dropped makes no difference.
        return (outcome.end != "close").then(|| "connection".to_owned());
    }
    let final_ones: Vec<Value> = statuses.as_array().into_iter().flatten().filter(|s| **s != 100).cloned().collect();
    if !matches_statuses(&Value::Array(final_ones), &outcome.statuses) {
        return Some(format!("statuses {statuses}"));
    }
    if let Some(body) = expect["body"].as_str()
        && expect["body_len"].is_null()
        && outcome.body.as_deref() != Some(&octets(body))
    {
        return Some("body".to_owned());
    }
    if let Some(framing) = expect["framing"].as_str()
        && framing != outcome.framing
    {
        return Some(format!("framing {framing}"));
    }
    if outcome.unsolicited && expect["unsolicited"] != true {
        return Some("unsolicited bytes".to_owned());
    }
    (!ends(&expect["connection"], outcome.end)).then(|| format!("connection {}", expect["connection"]))
}

fn matches_statuses(expected: &Value, found: &[u64]) -> bool {
    let expected = expected.as_array().map_or(&[][..], |all| all);
    let one = |(expected, found): (&Value, &u64)| match expected {
        Value::Array(any) => any.iter().any(|status| status == found),
        one => one == found,
    };
    expected.len() == found.len() && expected.iter().zip(found).all(one)
}

fn ends(expected: &Value, found: &str) -> bool {
    text(expected).split('|').any(|end| end == found)
}

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../../tests/data/http1_cases.json")).expect("JSON");
    let all = file["cases"].as_array().expect("a list").clone();
    all.into_iter().filter(|case| !text(&case["group"]).starts_with("static-")).collect()
}

#[test]
fn every_case_ends_as_it_may_on_every_back_end() {
    let cases = cases();
    assert!(cases.len() > 200, "only {} cases", cases.len());
    let mut objections = Vec::new();
    for name in back_end::NAMES.into_iter().filter(|name| back_end::choose(name)) {
        for case in &cases {
            let input = bytes(case);
            let outcome = run(case, &[&input]);
            if let Some(objection) = objection(case, &outcome) {
                objections.push(format!("{} on {name}: {objection}; got {outcome:?}", case["id"]));
            }
        }
    }
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

#[test]
fn no_outcome_depends_on_the_cuts() {
    for case in cases() {
        let input = bytes(&case);
        let whole = run(&case, &[&input]);
        // Of long fillings, only the neighbourhood of the ends and a grid in between.
        let step = if input.len() > 2_000 { 997 } else { 1 };
        let near_end = |at: usize| at < 300 || at + 300 > input.len();
        for at in (0..=input.len()).filter(|&at| at % step == 0 || (step > 1 && near_end(at) && at % 7 == 0)) {
            let (first, second) = input.split_at(at);
            assert_eq!(run(&case, &[first, second]), whole, "{} cut at {at}", case["id"]);
        }
        let bytewise: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(run(&case, &bytewise), whole, "{} byte by byte", case["id"]);
    }
}
