//! The field section of a head: lines, their names and values, and the empty line at the end.

use crate::error::{Kind, Stop};
use crate::field::{Field, FieldSink, Known};
use crate::framing::Framing;
use crate::limits::Limits;
use crate::scan::table::is_token;
use crate::scan::{BLOCK, Scan};
use crate::span::Span;
use crate::view::View;

/// Parses field lines from `at` up to the empty line. Returns the end of the head and the number of lines.
/// `FOLD`: a line may be continued (responses only).
#[inline(always)]
pub(crate) fn fields<S: Scan, K: FieldSink, const FOLD: bool>(
    scan: S,
    view: View<'_>,
    mut at: usize,
    limits: &Limits,
    sink: &mut K,
    framing: &mut Framing,
) -> Result<(usize, u16), Stop> {
    let mut count = 0;
    loop {
        if view.at(at)? == b'\r' {
            return Ok((view.line_end(at, Kind::BadLineEnd)?, count));
        }
        if count >= limits.fields {
            return Err(Stop::bad(Kind::TooManyHeaders, at));
        }
        let (colon, stop) = line(scan, view, at)?;
        let mut next = view.line_end(stop, Kind::BadHeaderValue)?;
        let mut stop = stop;
        if FOLD {
            while matches!(view.at(next)?, b' ' | b'\t') {
                stop = view.control(scan, next)?;
                next = view.line_end(stop, Kind::BadHeaderValue)?;
            }
        }
        let field = field(view, at, colon, stop);
        framing.take(view.bytes(), &field);
        if !sink.push(field) {
            framing.refuse(Kind::TooManyHeaders, at);
        }
        count += 1;
        at = next;
    }
}

/// Finds the colon and the end of the value.
#[inline(always)]
fn line<S: Scan>(scan: S, view: View<'_>, at: usize) -> Result<(usize, usize), Stop> {
    let mask = view.line(scan, at);
    let name_len = mask.not_token.trailing_zeros() as usize;
    let mut colon = at + name_len;
    if name_len == 0 || name_len >= BLOCK || view.at(colon)? != b':' {
        colon = rare_name(view, at)?;
    }
    if mask.control != 0 {
        return Ok((colon, at + mask.control.trailing_zeros() as usize));
    }
    Ok((colon, view.control(scan, colon.max(at + BLOCK))?))
}

/// A name that is longer than a block, or wrong, or not complete.
#[cold]
#[inline(never)]
fn rare_name(view: View<'_>, at: usize) -> Result<usize, Stop> {
    let mut colon = at;
    while is_token(view.at(colon)?) {
        colon += 1;
    }
    match view.at(colon)? {
        b':' if colon > at => Ok(colon),
        b' ' | b'\t' if colon == at => Err(Stop::bad(Kind::ObsFold, at)),
        b'\n' if colon == at => Err(Stop::bad(Kind::BadLineEnd, at)),
        b' ' | b'\t' => Err(space_in_name(view, colon)?),
        _ => Err(Stop::bad(Kind::BadHeaderName, colon)),
    }
}

/// Whitespace after the name: only what follows it tells whether a colon was meant.
fn space_in_name(view: View<'_>, from: usize) -> Result<Stop, Stop> {
    let mut at = from;
    while matches!(view.at(at)?, b' ' | b'\t') {
        at += 1;
    }
    let kind = if view.at(at)? == b':' { Kind::WhitespaceBeforeColon } else { Kind::BadHeaderName };
    Ok(Stop::bad(kind, from))
}

/// A field without the whitespace around its value. Inside of a value nothing up to 0x20 is left but whitespace,
/// and the CR LF of a fold.
#[inline(always)]
fn field(view: View<'_>, at: usize, colon: usize, stop: usize) -> Field {
    let bytes = view.bytes();
    let (mut start, mut end) = (colon + 1, stop);
    while start < end && bytes[start] <= b' ' {
        start += 1;
    }
    while end > start && bytes[end - 1] <= b' ' {
        end -= 1;
    }
    let known = Known::of(&bytes[at..colon]);
    Field { name: Span::new(at, colon), value: Span::new(start, end), known }
}

/// Skips empty lines before a start line. Returns where the start line begins.
#[inline(always)]
pub(crate) fn start_line(view: View<'_>, limits: &Limits) -> Result<usize, Stop> {
    if view.at(0)? > b'\r' { Ok(0) } else { skip_empty_lines(view, limits) }
}

#[cold]
#[inline(never)]
fn skip_empty_lines(view: View<'_>, limits: &Limits) -> Result<usize, Stop> {
    let mut at = 0;
    while view.at(at)? == b'\r' {
        if at / 2 >= usize::from(limits.empty_lines) {
            return Err(Stop::bad(Kind::TooManyEmptyLines, at));
        }
        at = view.line_end(at, Kind::BadLineEnd)?;
    }
    if view.at(at)? == b'\n' { Err(Stop::bad(Kind::BadLineEnd, at)) } else { Ok(at) }
}

/// `HTTP/1.` and a digit from `at` on, as the minor number. It is taken octet by octet, so that what is wrong is
/// found as soon as it has arrived.
#[cold]
#[inline(never)]
pub(crate) fn rare_version(view: View<'_>, at: usize) -> Result<u8, Stop> {
    for (index, octet) in b"HTTP/d.d".iter().enumerate() {
        let found = view.at(at + index)?;
        let fits = if *octet == b'd' { found.is_ascii_digit() } else { found == *octet };
        if !fits {
            return Err(Stop::bad(Kind::BadVersion, at + index));
        }
    }
    match view.at(at + 5)? {
        b'1' => Ok(view.at(at + 7)? - b'0'),
        _ => Err(Stop::bad(Kind::UnsupportedVersion, at + 5)),
    }
}
