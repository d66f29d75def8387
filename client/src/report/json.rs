//! The report for programs.

use super::Report;

/// The schema that [`render`] keeps to (JSON Schema, draft 2020-12).
pub const SCHEMA: &str = include_str!("../../schema/report.schema.json");

/// One JSON object, indented, with a line end.
///
/// # Errors
/// None that can be met: every map of the report has strings for keys.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
