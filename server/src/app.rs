//! Request to response: a table of paths whose answers were rendered before the first request came.
//!
//! The hot path is one look-up and one copy of prepared bytes. Nothing here performs I/O; body files are read by
//! [`crate::config`] when it resolves the routes.

use std::sync::Arc;

use ringshot_http1::encode::{EncodeError, Prepared};
use ringshot_http1::{Limits, Method, RequestHead, TargetForm};

use crate::config::{Config, ConfigError};
use crate::routes::Route;

/// Value of the Server field unless a route sets its own.
pub const SERVER_NAME: &str = "ringshot";

/// Fields of an echoed body. The type is fixed: what a peer sent must not come back as a page that a browser runs.
pub(crate) const ECHO_FIELDS: [(&str, &[u8]); 2] =
    [("Server", SERVER_NAME.as_bytes()), ("Content-Type", b"application/octet-stream")];

/// Final answers that belong to no route, each with the text of its body. The codec's errors name these statuses.
const REFUSALS: [(u16, &str); 14] = [
    (400, "bad request\n"),
    (404, "not found\n"),
    (405, "method not allowed\n"),
    (408, "request took too long\n"),
    (411, "length required\n"),
    (413, "content too large\n"),
    (414, "target too long\n"),
    (417, "expectation failed\n"),
    (426, "upgrade required\n"),
    (431, "header fields too large\n"),
    (500, "internal error\n"),
    (501, "not implemented\n"),
    (503, "service unavailable\n"),
    (505, "HTTP version not supported\n"),
];

/// Methods that are known by name, in the order of an Allow field.
const NAMED: [Method; 9] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
    Method::Trace,
    Method::Connect,
];

/// A set of named methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodSet(u16);

impl MethodSet {
    /// The set of `methods`.
    #[must_use]
    pub fn of(methods: &[Method]) -> Self {
        methods.iter().fold(Self::default(), |set, method| set.with(*method))
    }

    /// The set and `method`.
    #[must_use]
    pub fn with(self, method: Method) -> Self {
        Self(self.0 | 1 << method as u16)
    }

    /// Whether `method` is in the set.
    #[must_use]
    #[inline]
    pub fn has(self, method: Method) -> bool {
        self.0 & 1 << method as u16 != 0
    }

    /// The names, as an Allow field lists them.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        NAMED.iter().filter(|method| self.has(**method)).map(|method| method.as_str()).collect()
    }
}

/// The method of a name; only those that a route may allow.
#[must_use]
pub fn method_named(name: &str) -> Option<Method> {
    let routable = NAMED.iter().filter(|method| !matches!(method, Method::Trace | Method::Connect));
    routable.copied().find(|method| method.as_str() == name)
}

/// What to answer a request with.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// These prepared bytes.
    Fixed(&'a Arc<Prepared>),
    /// 200 with the decoded body of the request.
    Echo,
}

struct Entry {
    path: Box<[u8]>,
    methods: MethodSet,
    echo: bool,
    answer: Arc<Prepared>,
    options: Arc<Prepared>,
    not_allowed: Arc<Prepared>,
}

/// All answers and the bounds of requests. Shared by all workers and never changed: a reload makes another one.
pub struct App {
    /// Sorted by path.
    entries: Vec<Entry>,
    refusals: Vec<Arc<Prepared>>,
    /// To `OPTIONS *`, which asks about the server as a whole.
    server_options: Arc<Prepared>,
    limits: Limits,
    max_pipeline: u32,
}

impl App {
    /// Renders the answers of `config`'s routes.
    ///
    /// # Errors
    /// A header of a route that can't be written (a CR, LF or NUL in it, or one that frames the message).
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let mut entries = config.routes.iter().map(named_entry).collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let refusals = REFUSALS.iter().map(|(status, text)| refusal(*status, text, None)).collect::<Result<_, _>>()?;
        let all = config.routes.iter().fold(MethodSet::default(), |set, route| MethodSet(set.0 | route.methods.0));
        Ok(Self {
            entries,
            refusals,
            server_options: allow_only(all.with(Method::Options))?,
            limits: config.limits.codec(),
            max_pipeline: config.limits.max_pipeline,
        })
    }

    /// The answer to a well-formed request for `path` (without the query; empty means `/`).
    #[must_use]
    #[inline]
    pub fn answer(&self, head: &RequestHead, path: &[u8]) -> Answer<'_> {
        let path = if path.is_empty() { b"/" } else { path };
        match self.entries.binary_search_by(|entry| (*entry.path).cmp(path)) {
            Ok(found) => self.entries[found].answer(head.method, self),
            Err(_) if head.form == TargetForm::Asterisk => Answer::Fixed(&self.server_options),
            Err(_) if head.method == Method::Other => Answer::Fixed(self.refusal(501)),
            Err(_) => Answer::Fixed(self.refusal(404)),
        }
    }

    /// The answer of `status` that belongs to no route; 500 when there is none of that status.
    #[must_use]
    pub fn refusal(&self, status: u16) -> &Arc<Prepared> {
        const INTERNAL_ERROR: usize = 10;
        let found = REFUSALS.iter().position(|(known, _)| *known == status);
        &self.refusals[found.unwrap_or(INTERNAL_ERROR)]
    }

    /// Bounds of the codec.
    #[must_use]
    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers that one batch of input may bring forth before the session waits for them to be sent.
    #[must_use]
    #[inline]
    pub fn max_pipeline(&self) -> u32 {
        self.max_pipeline
    }
}

impl Entry {
    #[inline]
    fn answer<'a>(&'a self, method: Method, app: &'a App) -> Answer<'a> {
        if self.methods.has(method) {
            return match (self.echo, method) {
                (true, _) => Answer::Echo,
                (false, Method::Options) => Answer::Fixed(&self.options),
                (false, _) => Answer::Fixed(&self.answer),
            };
        }
        match method {
            Method::Options => Answer::Fixed(&self.options),
            Method::Other => Answer::Fixed(app.refusal(501)),
            _ => Answer::Fixed(&self.not_allowed),
        }
    }
}

fn named_entry(route: &Route) -> Result<Entry, ConfigError> {
    entry(route).map_err(|error| ConfigError::Route { path: route.path.clone(), message: error.to_string() })
}

/// A route that lists OPTIONS answers it as it answers GET, with Allow; any other answers it with Allow alone.
fn entry(route: &Route) -> Result<Entry, EncodeError> {
    let listed = route.methods.with(Method::Options);
    let mut fields: Vec<(&str, &[u8])> =
        route.fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let answer = Prepared::new(route.status, &fields, &route.body)?;
    let allow = listed.names().join(", ");
    fields.push(("Allow", allow.as_bytes()));
    let options = match route.methods.has(Method::Options) {
        true => Arc::new(Prepared::new(route.status, &fields, &route.body)?),
        false => allow_only(listed)?,
    };
    Ok(Entry {
        path: route.path.as_bytes().into(),
        methods: route.methods,
        echo: route.echo,
        answer: Arc::new(answer),
        options,
        not_allowed: refusal(405, "method not allowed\n", Some(&allow))?,
    })
}

fn refusal(status: u16, text: &str, allow: Option<&str>) -> Result<Arc<Prepared>, EncodeError> {
    let mut fields: Vec<(&str, &[u8])> = vec![("Server", SERVER_NAME.as_bytes()), ("Content-Type", b"text/plain")];
    if let Some(allow) = allow {
        fields.push(("Allow", allow.as_bytes()));
    }
    Prepared::new(status, &fields, text.as_bytes()).map(Arc::new)
}

fn allow_only(methods: MethodSet) -> Result<Arc<Prepared>, EncodeError> {
    let allow = methods.names().join(", ");
    Prepared::new(204, &[("Server", SERVER_NAME.as_bytes()), ("Allow", allow.as_bytes())], b"").map(Arc::new)
}
