//! Sizes and times as people write them: `64KiB`, `1500ms`. One spelling for flags, config file and print-out.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes. Written as `N`, `NKiB`, `NMiB` or `NGiB`; `k`, `m` and `g` are read as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A span of time. Written as `Nms`, `Ns`, `Nm` or `Nh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// Why a size or time can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a size.
    #[error("expected a number of bytes such as 4096, 64KiB or 1MiB")]
    Size,
    /// Not a time.
    #[error("expected a time such as 250ms, 10s, 5m or 1h")]
    Time,
}

const SIZE_UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const TIME_UNITS_MS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Splits `12ab` into 12 and `ab`.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, text[digits..].trim_start()))
}

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = number_and_unit(text).ok_or(UnitError::Size)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            _ => return Err(UnitError::Size),
        };
        number.checked_mul(factor).map(Self).ok_or(UnitError::Size)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SIZE_UNITS.iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Time {
    /// Nanoseconds, as deadlines count.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Time {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = number_and_unit(text).ok_or(UnitError::Time)?;
        let (_, factor) = TIME_UNITS_MS.iter().find(|(name, _)| *name == unit).ok_or(UnitError::Time)?;
        number.checked_mul(*factor).map(|ms| Self(Duration::from_millis(ms))).ok_or(UnitError::Time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        match TIME_UNITS_MS.iter().find(|(_, factor)| ms >= *factor && ms.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", ms / factor),
            None => write!(f, "{ms}ms"),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A config file may write a size without unit as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(bytes) => Ok(Self(bytes)),
            NumberOrText::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("1000", 1000, "1000"),
            ("64k", 65536, "64KiB"),
            ("64 KiB", 65536, "64KiB"),
            ("65536", 65536, "64KiB"),
            ("1m", 1 << 20, "1MiB"),
            ("3GiB", 3 << 30, "3GiB"),
            ("1537", 1537, "1537"),
        ] {
            let size: Size = text.parse().expect(text);
            assert_eq!(size, Size(bytes), "{text}");
            assert_eq!(size.to_string(), shown);
            assert_eq!(shown.parse(), Ok(size));
        }
        for text in ["", "k", "-1", "1.5k", "1kb", "1 x", "99999999999999999999", "18446744073709551615k"] {
            assert_eq!(text.parse::<Size>(), Err(UnitError::Size), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, ms, shown) in [
            ("0s", 0, "0ms"),
            ("250ms", 250, "250ms"),
            ("1000ms", 1000, "1s"),
            ("90s", 90_000, "90s"),
            ("60s", 60_000, "1m"),
            ("5m", 300_000, "5m"),
            ("2h", 7_200_000, "2h"),
        ] {
            let time: Time = text.parse().expect(text);
            assert_eq!(time.0.as_millis(), ms, "{text}");
            assert_eq!(time.to_string(), shown);
            assert_eq!(shown.parse(), Ok(time));
        }
        for text in ["", "5", "s", "1.5s", "-1s", "1d", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(text.parse::<Time>(), Err(UnitError::Time), "{text}");
        }
    }
}
