//! Figures as people read them: three to four digits and a unit.

/// `17 ns`, `18.4 us`, `1.25 ms`, `2.00 s`, `61.0 min`.
#[must_use]
pub fn duration_ns(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => scaled(value / 1e3, "us"),
        999_500..999_500_000 => scaled(value / 1e6, "ms"),
        999_500_000..600_000_000_000 => scaled(value / 1e9, "s"),
        _ => scaled(value / 6e10, "min"),
    }
}

/// Events per second: `0.50 /s`, `950 /s`, `169.2 k/s`, `1.94 M/s`.
#[must_use]
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r < 10.0 => format!("{r:.2} /s"),
        r if r < 999.5 => format!("{r:.0} /s"),
        r if r < 999_950.0 => format!("{:.1} k/s", r / 1e3),
        r if r < 999_995_000.0 => format!("{:.2} M/s", r / 1e6),
        r => format!("{:.2} G/s", r / 1e9),
    }
}

/// Bytes in powers of 1024: `512 B`, `1.50 KiB`, `64.0 MiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    scaled(value, UNITS[unit])
}

/// A whole number with its thousands apart: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio as a percentage: 0.935 is `93.5 %`. What isn't all or nothing never reads like it.
#[must_use]
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value > 0.0 && value < 0.05 {
        return "<0.1 %".to_owned();
    }
    if (99.95..100.0).contains(&value) {
        return ">99.9 %".to_owned();
    }
    format!("{value:.1} %")
}

/// Three digits that count, four above 1000.
fn scaled(value: f64, unit: &str) -> String {
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let table = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (9_994, "9.99 us"),
            (9_996, "10.0 us"),
            (18_420, "18.4 us"),
            (99_960, "100 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (1_250_000, "1.25 ms"),
            (2_000_000_000, "2.00 s"),
            (3_660_000_000_000, "61.0 min"),
        ];
        for (ns, text) in table {
            assert_eq!(duration_ns(ns), text, "{ns}");
        }
    }

    #[test]
    fn rates() {
        let table = [
            (0.0, "0.00 /s"),
            (0.5, "0.50 /s"),
            (950.4, "950 /s"),
            (999.6, "1.0 k/s"),
            (169_200.0, "169.2 k/s"),
            (999_960.0, "1.00 M/s"),
            (1_940_000.0, "1.94 M/s"),
            (2e9, "2.00 G/s"),
        ];
        for (per_second, text) in table {
            assert_eq!(rate(per_second), text, "{per_second}");
        }
    }

    #[test]
    fn sizes() {
        let table = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (64 << 20, "64.0 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (n, text) in table {
            assert_eq!(bytes(n), text, "{n}");
        }
    }

    #[test]
    fn counts_and_percentages() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (100_000, "100,000")] {
            assert_eq!(count(n), text);
        }
        let table = [
            (0.0, "0.0 %"),
            (0.0001, "<0.1 %"),
            (0.935, "93.5 %"),
            (0.9996, ">99.9 %"),
            (1.0, "100.0 %"),
            (1.5, "150.0 %"),
        ];
        for (ratio, text) in table {
            assert_eq!(percent(ratio), text, "{ratio}");
        }
    }
}
