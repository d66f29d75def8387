//! Printing what is known.

use std::io::{self, Write};

use ringshot_host::knob::{ALL, At, Fit, Knob, Site};
use ringshot_host::root::Root;
use serde::Serialize;

use super::Format;

/// Longer values are cut in the table; `show` has them whole.
const VALUE_WIDTH: usize = 22;

/// One knob as JSON.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    title: &'static str,
    place: String,
    scope: &'static str,
    takes_effect: &'static str,
    value: Option<String>,
    fit: &'static str,
    reason: String,
    values: &'static [&'static str],
    loopback: &'static str,
    network_card: &'static str,
    source: &'static str,
    proof: String,
    restore: &'static str,
    risk: &'static str,
}

impl Row {
    fn new(knob: &'static Knob, at: &At<'_>) -> Self {
        let fit = knob.fit(at);
        Self {
            id: knob.id,
            title: knob.title,
            place: knob.site.describe(at.device),
            scope: knob.scope.name(),
            takes_effect: knob.when.name(),
            value: knob.current(at),
            fit: fit.word(),
            reason: fit.reason(),
            values: knob.values,
            loopback: knob.here,
            network_card: knob.nic,
            source: knob.source,
            proof: knob.effect.to_string(),
            restore: knob.restore.name(),
            risk: knob.risk,
        }
    }
}

/// All knobs: first those worth trying, then those without effect, then those that can't be set, each with its reason.
pub(super) fn list(root: &Root, device: &str, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let at = At { root, device };
    let rows: Vec<Row> = ALL.iter().map(|knob| Row::new(knob, &at)).collect();
    if let Format::Json = format {
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        return writeln!(out);
    }
    let groups = [
        ("applies", "worth an experiment"),
        ("no effect", "can change nothing for this traffic"),
        ("skipped", "can't be set from here"),
    ];
    for (word, heading) in groups {
        let group: Vec<&Row> = rows.iter().filter(|row| row.fit == word).collect();
        writeln!(out, "{word} on {device}: {} settings, {heading}", group.len())?;
        group.iter().try_for_each(|row| line(row, out))?;
        writeln!(out)?;
    }
    writeln!(out, "`ringshot-lab knobs show ID` has claims, sources, values to try, proof and risk")
}

fn line(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let value = row.value.as_deref().unwrap_or("-").replace('\t', " ");
    let value: String = match value.chars().count() > VALUE_WIDTH {
        true => value.chars().take(VALUE_WIDTH - 2).chain("..".chars()).collect(),
        false => value,
    };
    let text = if row.reason.is_empty() { row.title } else { &row.reason };
    writeln!(out, "  {:<34} {:<9} {value:<VALUE_WIDTH$} {text}", row.id, row.scope)
}

/// One knob on one screen.
pub(super) fn show(root: &Root, knob: &Knob, device: &str, out: &mut dyn Write) -> io::Result<()> {
    let at = At { root, device };
    let fit = match knob.fit(&at) {
        Fit::Applies => format!("applies on {device}"),
        other => other.to_string(),
    };
    let reach = match knob.scope.is_contained() {
        true => knob.scope.name().to_owned(),
        false => format!("{} (no sandbox holds it)", knob.scope.name()),
    };
    let undo = match knob.site {
        Site::Command { undo, .. } => format!("`{undo}`"),
        _ => knob.restore.name().to_owned(),
    };
    let values = if knob.values.is_empty() { "-".to_owned() } else { knob.values.join("   ") };
    writeln!(out, "{}: {}", knob.id, knob.title)?;
    for (label, text) in [
        ("where", knob.site.describe(device)),
        ("now", knob.current(&at).unwrap_or_else(|| "-".to_owned())),
        ("here", fit),
        ("reaches", reach),
        ("effect for", knob.when.name().to_owned()),
        ("loopback", knob.here.to_owned()),
        ("network card", knob.nic.to_owned()),
        ("says who", knob.source.to_owned()),
        ("worth trying", values),
        ("proof", knob.effect.to_string()),
        ("undone by", undo),
        ("risk", knob.risk.to_owned()),
    ] {
        writeln!(out, "  {label:<13} {text}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(print: impl FnOnce(&Root, &mut Vec<u8>) -> io::Result<()>) -> String {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("proc/sys/net/ipv4/tcp_rmem");
        std::fs::create_dir_all(file.parent().expect("parent")).expect("directories");
        std::fs::write(file, "4096\t131072\t6291456\n").expect("a file");
        let mut out = Vec::new();
        print(&Root::under(directory.path()), &mut out).expect("printed");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn every_knob_is_listed_once_in_each_format() {
        let text = printed(|root, out| list(root, "lo", Format::Text, out));
        let json = printed(|root, out| list(root, "lo", Format::Json, out));
        let rows: Vec<serde_json::Value> = serde_json::from_str(&json).expect("an array");
        assert_eq!(rows.len(), ALL.len());
        for knob in ALL {
            let start = format!("  {} ", knob.id);
            assert_eq!(text.lines().filter(|line| line.starts_with(&start)).count(), 1, "{}", knob.id);
        }
        assert!(text.contains("ipv4.tcp_rmem                      namespace 4096 131072 6291456"), "{text}");
    }

    #[test]
    fn one_is_shown_with_all_that_is_known() {
        for knob in ALL {
            let text = printed(|root, out| show(root, knob, "lo", out));
            for part in [knob.here, knob.nic, knob.source, knob.risk] {
                assert!(text.contains(part), "{}: {text}", knob.id);
            }
        }
    }
}
