//! Routes as the config file gives them, and resolved: checked, and with their bodies read.

use std::path::PathBuf;

use ringshot_http1::Method;
use serde::{Deserialize, Serialize};

use crate::app::{MethodSet, SERVER_NAME, method_named};
use crate::config::ConfigError;

/// One `[[route]]` of the config file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteOptions {
    /// The path, without a query: any query is answered alike.
    pub path: String,
    /// Methods that are allowed. Default: GET and HEAD; of an echo all that carry a body as well. OPTIONS is always
    /// answered with Allow; a route that lists it answers it like GET, with Allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// Status of the answer. Default 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Content-Type of the answer; empty for none. Default text/plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// More fields, each as `Name: value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// The body as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body as a file, read once at start; relative to the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<PathBuf>,
    /// Answer with the decoded body of the request instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub echo: bool,
}

/// A route, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Starts with `/`.
    pub path: String,
    /// Allowed methods.
    pub methods: MethodSet,
    /// 200 to 599.
    pub status: u16,
    /// Fields of the answer in order, Server and Content-Type among them.
    pub fields: Vec<(String, String)>,
    /// The body that is sent.
    pub body: Vec<u8>,
    /// Where it was read from.
    pub body_file: Option<PathBuf>,
    /// Answers with the request's body.
    pub echo: bool,
}

impl RouteOptions {
    pub(crate) fn resolve(self) -> Result<Route, ConfigError> {
        let refuse = |message: &str| Err(ConfigError::Route { path: self.path.clone(), message: message.to_owned() });
        if !self.path.starts_with('/')
            || self.path.bytes().any(|byte| !byte.is_ascii_graphic() || b"?#".contains(&byte))
        {
            return refuse("a path starts with / and has no space, ? or #; write other characters as %XX");
        }
        let status = self.status.unwrap_or(200);
        if !(200..=599).contains(&status) {
            return refuse("status must be 200 to 599");
        }
        let has_body = self.body.is_some() || self.body_file.is_some();
        if self.body.is_some() && self.body_file.is_some() {
            return refuse("body and body_file exclude each other");
        }
        if self.echo && (has_body || self.status.is_some() || self.content_type.is_some() || !self.headers.is_empty()) {
            return refuse("an echo has no body, status, content_type or headers of its own");
        }
        if has_body && matches!(status, 204 | 304) && self.body.as_deref() != Some("") {
            return refuse("a 204 or 304 has no body");
        }
        let methods = match self.method_set() {
            Ok(methods) if methods == MethodSet::default() => return refuse("methods is empty"),
            Ok(methods) => methods,
            Err(name) => return refuse(&format!("method {name} can't be allowed here")),
        };
        let fields = match self.fields() {
            Ok(fields) => fields,
            Err(header) => return refuse(&format!("header '{header}' is not of the form 'Name: value'")),
        };
        let body = match &self.body_file {
            Some(file) => match std::fs::read(file) {
                Ok(body) => body,
                Err(error) => return refuse(&format!("cannot read {}: {error}", file.display())),
            },
            None => self.body.clone().unwrap_or_default().into_bytes(),
        };
        Ok(Route { path: self.path, methods, status, fields, body, body_file: self.body_file, echo: self.echo })
    }

    fn method_set(&self) -> Result<MethodSet, &str> {
        use Method::{Delete, Get, Head, Options, Patch, Post, Put};
        let Some(names) = &self.methods else {
            let echo = MethodSet::of(&[Get, Head, Post, Put, Patch, Delete, Options]);
            return Ok(if self.echo { echo } else { MethodSet::of(&[Get, Head]) });
        };
        names.iter().try_fold(MethodSet::default(), |set, name| match method_named(name) {
            Some(Get) => Ok(set.with(Get).with(Head)),
            Some(method) => Ok(set.with(method)),
            None => Err(name.as_str()),
        })
    }

    /// Server, Content-Type, then the rest as given; a header of the same name takes the place of the first two.
    fn fields(&self) -> Result<Vec<(String, String)>, &str> {
        let given = self.headers.iter().map(|header| split_header(header).ok_or(header.as_str()));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let content_type = self.content_type.as_deref().unwrap_or("text/plain");
        let own = [("Server", SERVER_NAME), ("Content-Type", content_type)];
        let has = |name: &str| given.iter().any(|(other, _)| name.eq_ignore_ascii_case(other));
        let mut fields: Vec<_> = own.into_iter().filter(|(name, value)| !value.is_empty() && !has(name)).collect();
        fields.extend(given);
        Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl Route {
    /// The options that resolve to this route. An echo has none of its own but its path and methods.
    pub(crate) fn options(&self) -> RouteOptions {
        let methods = self.methods.names().into_iter().map(str::to_owned).collect();
        let bare = RouteOptions {
            path: self.path.clone(),
            methods: Some(methods),
            echo: self.echo,
            ..RouteOptions::default()
        };
        if self.echo {
            return bare;
        }
        let has_type = self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let text = String::from_utf8_lossy(&self.body).into_owned();
        RouteOptions {
            status: Some(self.status),
            content_type: (!has_type).then(String::new),
            headers: self.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
            body: self.body_file.is_none().then_some(text),
            body_file: self.body_file.clone(),
            ..bare
        }
    }
}

/// `Name: value` in two.
pub(crate) fn split_header(header: &str) -> Option<(&str, &str)> {
    let (name, value) = header.split_once(':')?;
    let name = name.trim();
    (!name.is_empty()).then_some((name, value.trim()))
}
