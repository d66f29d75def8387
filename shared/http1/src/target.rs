//! Request targets: the four forms of RFC 9112, section 3.2, and the authority that a target or Host names.

use crate::method::Method;
use crate::scan::table::is_host;

/// How a target is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetForm {
    /// `/path?query`
    Origin,
    /// `http://authority/path?query`, as it is sent to a proxy and has to be understood by everyone.
    Absolute,
    /// `host:port`, for CONNECT only.
    Authority,
    /// `*`, for OPTIONS only.
    Asterisk,
}

/// The parts of a target, as offsets in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) form: TargetForm,
    /// Start and end of host and port.
    pub(crate) authority: (usize, usize),
    /// Where the path starts; it ends at the query or the end.
    pub(crate) path: usize,
}

/// Reads a target that doesn't start with `/`; `None` when it is none, or none that the method takes.
#[cold]
#[inline(never)]
pub(crate) fn rare_target(method: Method, target: &[u8]) -> Option<Parts> {
    let parts = |form, authority, path| Some(Parts { form, authority, path });
    match method {
        Method::Connect if has_port(target) && is_authority(target) => {
            parts(TargetForm::Authority, (0, target.len()), target.len())
        }
        Method::Connect => None,
        Method::Options if target == b"*" => parts(TargetForm::Asterisk, (0, 0), 0),
        _ => {
            let start = scheme_len(target)?;
            let rest = &target[start..];
            let len = rest.iter().position(|octet| matches!(octet, b'/' | b'?')).unwrap_or(rest.len());
            is_authority(&rest[..len]).then_some(())?;
            parts(TargetForm::Absolute, (start, start + len), start + len)
        }
    }
}

/// The length of `http://` or `https://`. A server of this protocol has nothing to give under other schemes.
fn scheme_len(target: &[u8]) -> Option<usize> {
    let starts = |scheme: &&[u8]| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    [&b"http://"[..], b"https://"].into_iter().find(starts).map(<[u8]>::len)
}

/// Whether it ends in a colon and digits.
fn has_port(authority: &[u8]) -> bool {
    let digits = authority.iter().rev().take_while(|octet| octet.is_ascii_digit()).count();
    digits > 0 && authority.iter().nth_back(digits) == Some(&b':')
}

/// `host [":" port]` without userinfo (RFC 9110, sections 4.2.4 and 7.2). The host isn't empty; the port may be.
#[inline(always)]
pub(crate) fn is_authority(authority: &[u8]) -> bool {
    let mut end = 0;
    while end < authority.len() && is_host(authority[end]) && authority[end] != b'%' {
        end += 1;
    }
    if end == authority.len() { end > 0 } else { is_rare_authority(authority) }
}

/// With a port, an address in brackets, or percent-encoded octets.
#[inline(never)]
fn is_rare_authority(authority: &[u8]) -> bool {
    let host_len = match authority {
        [b'[', rest @ ..] => match rest.iter().position(|&octet| octet == b']') {
            Some(len) if is_address(&rest[..len]) => len + 2,
            _ => return false,
        },
        _ => authority.iter().position(|&octet| octet == b':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(host_len);
    let named = host.first() == Some(&b'[') || is_name(host);
    named && (port.is_empty() || (port[0] == b':' && is_port(&port[1..])))
}

fn is_name(host: &[u8]) -> bool {
    let encoded = |at: usize| host.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    !host.is_empty() && host.iter().enumerate().all(|(at, &octet)| is_host(octet) && (octet != b'%' || encoded(at)))
}

/// An IPv6 address, or one of a version yet to come (`v1.x`).
fn is_address(address: &[u8]) -> bool {
    if let [b'v' | b'V', rest @ ..] = address {
        let Some(dot) = rest.iter().position(|&octet| octet == b'.') else { return false };
        let (version, tail) = (&rest[..dot], &rest[dot + 1..]);
        let hex = !version.is_empty() && version.iter().all(u8::is_ascii_hexdigit);
        return hex && !tail.is_empty() && tail.iter().all(|&o| o == b':' || (is_host(o) && o != b'%'));
    }
    core::str::from_utf8(address).is_ok_and(|text| text.parse::<core::net::Ipv6Addr>().is_ok())
}

/// Up to 65535, or nothing at all. Leading zeros are kept out by length.
fn is_port(port: &[u8]) -> bool {
    port.len() <= 5
        && port.iter().all(u8::is_ascii_digit)
        && port.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')) <= 65_535
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities() {
        let good = "a t.example t.example:80 t.example: 127.0.0.1:8080 [::1] [::1]:80 [fe80::1:2]: [v1.a:b] %41b xn--a_b! 1:65535";
        for text in good.split(' ') {
            assert!(is_authority(text.as_bytes()), "{text}");
        }
        let bad = "|:80|a:b|a:80:80|a/x|a?x|u@a|a b|a,b|a.\u{e9}\
            |[::1|[]|[::1]x|[1.2.3.4]|[::g]|%4|%zz|a:65536|a:000080|::1|[v.a]|a\\b|a#b|\"a\"|[::1%25eth0]";
        for text in bad.split('|') {
            assert!(!is_authority(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn forms_other_than_origin() {
        use Method::{Connect, Get, Options};
        use TargetForm::{Absolute, Asterisk, Authority};
        let table = [
            (Get, "http://a/p?q", Some((Absolute, "a", "/p?q"))),
            (Get, "HTTPS://a:1", Some((Absolute, "a:1", ""))),
            (Get, "http://a?q", Some((Absolute, "a", "?q"))),
            (Options, "http://a", Some((Absolute, "a", ""))),
            (Options, "*", Some((Asterisk, "", "*"))),
            (Connect, "a:443", Some((Authority, "a:443", ""))),
            (Connect, "[::1]:443", Some((Authority, "[::1]:443", ""))),
            (Get, "*", None),
            (Get, "**", None),
            (Options, "*a", None),
            (Get, "a:80", None),
            (Get, "p", None),
            (Get, "http:/a", None),
            (Get, "http:///p", None),
            (Get, "http://u:p@a/", None),
            (Get, "ftp://a/", None),
            (Connect, "a", None),
            (Connect, "a:", None),
            (Connect, ":443", None),
            (Connect, "http://a/", None),
            (Connect, "*", None),
        ];
        for (method, target, expected) in table {
            let found = rare_target(method, target.as_bytes())
                .map(|parts| (parts.form, &target[parts.authority.0..parts.authority.1], &target[parts.path..]));
            assert_eq!(found, expected, "{target}");
        }
    }
}
