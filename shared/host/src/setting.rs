//! Reading and writing one file that holds a setting.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The value of a setting. Where a file lists all choices with the chosen one in brackets, that one.
///
/// # Errors
/// As the file system says.
pub fn read_value(path: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.map_or_else(|| text.trim().to_owned(), str::to_owned))
}

/// Writes a setting in one call, as procfs wants it (a second write would be a second value).
pub(crate) fn write_value(path: &Path, value: &str) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

/// Whether two spellings mean the same: the kernel prints tabs for spaces, and masks with leading zeros and commas.
#[must_use]
pub fn same_value(left: &str, right: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mask = |text: &str| {
        let digits: String = text.chars().filter(|&c| c != ',').collect();
        let is_hex = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
        is_hex.then(|| digits.trim_start_matches('0').to_ascii_lowercase())
    };
    words(left) == words(right) || mask(left.trim()).is_some_and(|left| Some(left) == mask(right.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeRoot;

    #[test]
    fn spellings_of_the_same_value() {
        for (left, right, same) in [
            ("4096\t131072\t6291456", "4096 131072 6291456", true),
            ("3", "00000000,00000003", true),
            ("ff", "00FF", true),
            ("0", "00000000", true),
            ("1", "2", false),
            ("bbr", "bbr", true),
            ("bbr", "reno", false),
            ("", "0", false),
            ("32768 60999", "32768 61000", false),
        ] {
            assert_eq!(same_value(left, right), same, "{left:?} {right:?}");
            assert_eq!(same_value(right, left), same, "{right:?} {left:?}");
        }
    }

    #[test]
    fn the_chosen_word_is_the_value() {
        let fake = FakeRoot::new("setting");
        for (contents, value) in [("always [madvise] never\n", "madvise"), ("4096\t2\n", "4096\t2"), ("\n", "")] {
            fake.put("sys/file", contents);
            assert_eq!(read_value(&fake.path("sys/file")).expect("readable"), value);
        }
        fake.put("sys/file", "1048576\n");
        write_value(&fake.path("sys/file"), "8").expect("writable");
        assert_eq!(fake.get("sys/file"), "8", "nothing of the old value is left");
        assert!(write_value(&fake.path("sys/other"), "8").is_err(), "no file is made");
    }
}
