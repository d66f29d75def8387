//! Reads HTTP/1.1 responses for the tests. Written apart from `ringshot-http1` on purpose: the two must agree.

use crate::failure::{Outcome, shown};
use crate::{ensure, fail};

/// One response, taken apart far enough to be checked.
#[derive(Clone, Debug)]
pub struct Response {
    /// Three digits, 100 to 599.
    pub status: u16,
    /// Name in lower case, value without the space around it.
    fields: Vec<(String, String)>,
    /// Content, decoded; empty where there is none.
    pub body: Vec<u8>,
    /// The bytes on the wire.
    pub raw: Vec<u8>,
}

impl Response {
    /// The first response in `bytes`, or `None` while it is incomplete.
    ///
    /// Fails on anything a strict reader would not accept from a server, and on a response whose end only
    /// the end of the connection would tell: ours always say how long they are.
    pub fn parse(bytes: &[u8], to_head: bool) -> Outcome<Option<Self>> {
        let Some(head_len) = find(bytes, b"\r\n\r\n").map(|at| at + 4) else {
            ensure!(bytes.len() <= 64 * 1024, "no end of the response head in {}", shown(bytes));
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..head_len - 4]);
        let Ok(head) = head else { return fail!("response head is not text: {}", shown(&bytes[..head_len])) };
        let mut lines = head.split("\r\n");
        let status = status_of(lines.next().unwrap_or_default())?;
        let fields = lines.map(field_of).collect::<Outcome<Vec<_>>>()?;
        let mut response = Self { status, fields, body: Vec::new(), raw: Vec::new() };
        let body_len = response.body_len(to_head)?;
        if bytes.len() < head_len + body_len {
            return Ok(None);
        }
        response.body = bytes[head_len..head_len + body_len].to_vec();
        response.raw = bytes[..head_len + body_len].to_vec();
        Ok(Some(response))
    }

    fn body_len(&self, to_head: bool) -> Outcome<usize> {
        let bodiless = matches!(self.status, 100..200 | 204);
        let lengths = self.all("content-length");
        ensure!(self.all("transfer-encoding").is_empty(), "unexpected Transfer-Encoding in {self:?}");
        match lengths[..] {
            [] if bodiless || self.status == 304 => Ok(0),
            [text] if !bodiless => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                ensure!(digits, "Content-Length {text:?} is not a number");
                let len = text.parse().expect("digits of a sane length");
                Ok(if to_head || self.status == 304 { 0 } else { len })
            }
            _ => fail!("{} Content-Length fields in {self:?}", lengths.len()),
        }
    }

    fn all(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The value of the only field of that name (lower case); `None` when absent or repeated.
    pub fn field(&self, name: &str) -> Option<&str> {
        match self.all(name)[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Whether `Connection` has this option.
    pub fn connection(&self, option: &str) -> bool {
        let lines = self.all("connection");
        lines.iter().flat_map(|line| line.split(',')).any(|o| o.trim().eq_ignore_ascii_case(option))
    }

    /// Whether `Allow` lists this method.
    pub fn allows(&self, method: &str) -> bool {
        self.field("allow").is_some_and(|list| list.split(',').any(|m| m.trim() == method))
    }

    /// The wire bytes with the value of `Date` blanked out, so that two answers can be compared.
    pub fn timeless(&self) -> Vec<u8> {
        let mut raw = self.raw.clone();
        if let Some(date) = self.field("date")
            && let Some(at) = find(&raw, date.as_bytes())
        {
            raw[at..at + date.len()].fill(b'-');
        }
        raw
    }
}

fn status_of(line: &str) -> Outcome<u16> {
    let code = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.split_once(' ')).map(|(code, _)| code);
    match code.map(str::parse) {
        Some(Ok(code @ 100..=599)) => Ok(code),
        _ => fail!("status line {line:?}"),
    }
}

fn field_of(line: &str) -> Outcome<(String, String)> {
    let Some((name, value)) = line.split_once(':') else { return fail!("response line {line:?}") };
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    ensure!(!name.is_empty() && name.bytes().all(token), "field name {name:?}");
    ensure!(!value.contains(|c: char| c.is_ascii_control() && c != '\t'), "control byte in {line:?}");
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// Where `needle` starts in `bytes`.
pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::Response;

    #[test]
    fn complete_responses_end_where_they_say() {
        let cases: &[(&str, bool, usize, &str)] = &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP", false, 43, "hello"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP", true, 38, ""),
            ("HTTP/1.1 204 No Content\r\n\r\nHTTP", false, 27, ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP", false, 25, ""),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nHTTP", false, 48, ""),
        ];
        for &(bytes, to_head, len, body) in cases {
            let response = Response::parse(bytes.as_bytes(), to_head).expect(bytes).expect(bytes);
            assert_eq!((response.raw.len(), &*response.body), (len, body.as_bytes()), "{bytes:?}");
            for end in 0..len {
                let torn = Response::parse(&bytes.as_bytes()[..end], to_head).expect(bytes);
                assert!(torn.is_none(), "complete at {end} of {bytes:?}");
            }
        }
    }

    #[test]
    fn what_a_server_must_not_send_is_refused() {
        let cases = [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
            "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\nY: b\r\nContent-Length: 0\r\n\r\n",
        ];
        for bytes in cases {
            assert!(Response::parse(bytes.as_bytes(), false).is_err(), "accepted {bytes:?}");
        }
    }

    #[test]
    fn only_the_value_of_the_date_is_blanked() {
        let head = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n";
        let response = Response::parse(head.as_bytes(), false).expect("valid").expect("complete");
        let blanked = head.replace("Sun, 06 Nov 1994 08:49:37 GMT", &"-".repeat(29));
        assert_eq!(response.timeless(), blanked.as_bytes());
    }
}
