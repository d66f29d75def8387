//! Comma-separated lists in field values (RFC 9110, section 5.6.1).

/// The members of a list without the whitespace around them. Empty members are left out, as a recipient must.
/// Octets from 0x80 up are never whitespace; the CR LF of a fold is.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    Members { rest: value }.map(trim).filter(|member| !member.is_empty())
}

fn trim(mut member: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = member {
        member = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = member {
        member = rest;
    }
    member
}

struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = end_of_member(self.rest);
        let (member, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Some(member)
    }
}

/// The first comma outside of a quoted string: `"a,close"` is one member, not two.
fn end_of_member(list: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, &octet) in list.iter().enumerate() {
        match octet {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    list.len()
}

#[cfg(test)]
mod tests {
    use super::members;

    #[test]
    fn members_are_trimmed_and_empty_ones_left_out() {
        let table: &[(&[u8], &[&[u8]])] = &[
            (b"", &[]),
            (b" , ,\t", &[]),
            (b"a", &[b"a"]),
            (b", a ,,b c,\td", &[b"a", b"b c", b"d"]),
            (b"\xA0a", &[b"\xA0a"]),
            (b"\"x, \\\", y\" , close", &[b"\"x, \\\", y\"", b"close"]),
            (b"\"never closed, close", &[b"\"never closed, close"]),
            (b"a,\r\n b", &[b"a", b"b"]),
        ];
        for &(value, expected) in table {
            assert_eq!(members(value).collect::<Vec<_>>(), expected, "{}", value.escape_ascii());
        }
    }
}
