//! Where requests go: the URL taken apart, and its addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Longest URL taken, in bytes; servers refuse longer targets anyway.
pub const URL_MAX_BYTES: usize = 16 * 1024;

/// A host as a URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name to be resolved.
    Name(String),
    /// A literal address; in a URL an IPv6 address stands in brackets.
    Address(IpAddr),
}

/// An `http` URL (RFC 9110 section 4.2.1), ready to be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port; 80 unless the URL has another.
    pub port: u16,
    /// The Host field's value: as in the URL, without the default port.
    pub authority: String,
    /// Path and query in origin form, `/` at least.
    pub path: String,
}

/// Why a URL can't be requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The scheme is https.
    #[error("https is not supported: this tool speaks plain HTTP/1.1; use http://, or put a TLS terminator in between")]
    Tls,
    /// The scheme is missing or is another one.
    #[error("`{0}` is not a URL that starts with http://")]
    Scheme(String),
    /// Name and password.
    #[error("a user name in the URL is not sent; give it with -H 'Authorization: ...'")]
    UserInfo,
    /// The host is missing or has characters that no host has.
    #[error("`{0}` is no host name and no address (an IPv6 address stands in brackets)")]
    Host(String),
    /// The port is no number from 1 to 65535.
    #[error("`{0}` is no port: 1 to 65535")]
    Port(String),
    /// A byte that must be percent-encoded.
    #[error("byte {0:#04x} in the URL must be percent-encoded")]
    Byte(u8),
    /// Too long.
    #[error("the URL is longer than {URL_MAX_BYTES} bytes")]
    Length,
}

impl std::str::FromStr for Target {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        if url.len() > URL_MAX_BYTES {
            return Err(UrlError::Length);
        }
        if let Some(bad) = url.bytes().find(|byte| !(0x21..=0x7e).contains(byte)) {
            return Err(UrlError::Byte(bad));
        }
        let rest = after_scheme(url)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (name, port) = split_port(authority)?;
        let host = parse_host(name)?;
        let authority = if port == 80 { name.to_owned() } else { format!("{name}:{port}") };
        Ok(Self { host, port, authority, path: origin_form(rest) })
    }
}

fn after_scheme(url: &str) -> Result<&str, UrlError> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    if scheme.eq_ignore_ascii_case("https") {
        return Err(UrlError::Tls);
    }
    if scheme.eq_ignore_ascii_case("http") {
        Ok(&url["http://".len()..])
    } else {
        Err(UrlError::Scheme(url.to_owned()))
    }
}

/// The fragment stays with the client (RFC 9110 section 7.1); an empty path becomes `/`.
fn origin_form(rest: &str) -> String {
    let rest = rest.split('#').next().unwrap_or("");
    if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") }
}

fn split_port(authority: &str) -> Result<(&str, u16), UrlError> {
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_host..].rfind(':') {
        None => Ok((authority, 80)),
        Some(at) => {
            let (host, port) = (&authority[..after_host + at], &authority[after_host + at + 1..]);
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            match port.parse() {
                // RFC 3986 section 3.2.3 lets the port be empty: then it is the default.
                _ if port.is_empty() => Ok((host, 80)),
                Ok(number) if digits && number > 0 => Ok((host, number)),
                _ => Err(UrlError::Port(port.to_owned())),
            }
        }
    }
}

fn parse_host(name: &str) -> Result<Host, UrlError> {
    let bad = || UrlError::Host(name.to_owned());
    if let Some(literal) = name.strip_prefix('[') {
        let literal = literal.strip_suffix(']').ok_or_else(bad)?;
        return literal.parse::<Ipv6Addr>().map(|address| Host::Address(address.into())).map_err(|_| bad());
    }
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(fits) {
        return Err(bad());
    }
    Ok(Host::Name(name.to_owned()))
}

impl Target {
    /// The addresses of the host, IPv4 before IPv6: `localhost` has both, and servers that listen on one of them only
    /// mostly listen on 127.0.0.1.
    ///
    /// # Errors
    /// What the resolver said, or that it found nothing.
    pub fn resolve(&self) -> std::io::Result<Vec<SocketAddr>> {
        let mut found: Vec<SocketAddr> = match &self.host {
            Host::Address(address) => vec![SocketAddr::new(*address, self.port)],
            Host::Name(name) => (name.as_str(), self.port).to_socket_addrs()?.collect(),
        };
        found.sort_by_key(SocketAddr::is_ipv6);
        found.dedup();
        if found.is_empty() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(found)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (String, u16, String) {
        let target: Target = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
        (target.authority, target.port, target.path)
    }

    #[test]
    fn urls_are_taken_apart() {
        let cases = [
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", 8080, "/"),
            ("http://127.0.0.1", "127.0.0.1", 80, "/"),
            ("HTTP://host:80/a", "host", 80, "/a"),
            ("http://host:/a", "host", 80, "/a"),
            ("http://host?a=1&b=2", "host", 80, "/?a=1&b=2"),
            ("http://host/?a=1#frag", "host", 80, "/?a=1"),
            ("http://host#frag", "host", 80, "/"),
            ("http://[::1]:81/x", "[::1]:81", 81, "/x"),
            ("http://[::1]/x", "[::1]", 80, "/x"),
            ("http://a_b-c.d/%20", "a_b-c.d", 80, "/%20"),
            ("http://host/a:b@c", "host", 80, "/a:b@c"),
        ];
        for (url, authority, port, path) in cases {
            assert_eq!(parsed(url), (authority.to_owned(), port, path.to_owned()), "{url}");
        }
    }

    #[test]
    fn urls_that_cannot_be_requested_say_why() {
        let cases = [
            ("https://host/", UrlError::Tls),
            ("host/", UrlError::Scheme("host/".to_owned())),
            ("ftp://host/", UrlError::Scheme("ftp://host/".to_owned())),
            ("http://u:p@host/", UrlError::UserInfo),
            ("http:///x", UrlError::Host(String::new())),
            ("http://::1/", UrlError::Host(":".to_owned())),
            ("http://[::1/", UrlError::Host("[:".to_owned())),
            ("http://[zz]/", UrlError::Host("[zz]".to_owned())),
            ("http://ho,st/", UrlError::Host("ho,st".to_owned())),
            ("http://host:0/", UrlError::Port("0".to_owned())),
            ("http://host:65536/", UrlError::Port("65536".to_owned())),
            ("http://host:+80/", UrlError::Port("+80".to_owned())),
            ("http://host/a b", UrlError::Byte(b' ')),
            ("http://host/\r\nX: y", UrlError::Byte(b'\r')),
            ("http://host/\u{e4}", UrlError::Byte(0xc3)),
        ];
        for (url, error) in cases {
            assert_eq!(url.parse::<Target>(), Err(error), "{url:?}");
        }
        assert_eq!(format!("http://h/{}", "x".repeat(URL_MAX_BYTES)).parse::<Target>(), Err(UrlError::Length));
    }

    #[test]
    fn literals_need_no_resolver() {
        let target: Target = "http://[::1]:81/".parse().expect("literal");
        assert_eq!(target.resolve().expect("literal"), ["[::1]:81".parse().expect("address")]);
    }
}
