//! The byte classes, written once. Every back end and every scalar path takes them from here.

const TOKEN: u8 = 1;
const VALUE: u8 = 2;
const TARGET: u8 = 4;
const HOST: u8 = 8;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        classes[octet] = class(octet as u8);
        octet += 1;
    }
    classes
};

const fn class(octet: u8) -> u8 {
    let mut class = 0;
    if octet.is_ascii_alphanumeric() || contains(b"!#$%&'*+-.^_`|~", octet) {
        class |= TOKEN;
    }
    if octet == b'\t' || (octet >= b' ' && octet != 0x7F) {
        class |= VALUE;
    }
    if octet > b' ' && octet < 0x7F && octet != b'#' {
        class |= TARGET;
    }
    if octet.is_ascii_alphanumeric() || contains(b"-._~!$&'()*+;=%", octet) {
        class |= HOST;
    }
    class
}

const fn contains(set: &[u8], octet: u8) -> bool {
    let mut i = 0;
    while i < set.len() {
        if set[i] == octet {
            return true;
        }
        i += 1;
    }
    false
}

/// tchar of RFC 9110, section 5.6.2.
#[inline(always)]
pub(crate) const fn is_token(octet: u8) -> bool {
    CLASSES[octet as usize] & TOKEN != 0
}

/// What a field value or reason phrase may hold: HTAB, SP, VCHAR and obs-text (RFC 9110, section 5.5).
#[inline(always)]
pub(crate) const fn is_value(octet: u8) -> bool {
    CLASSES[octet as usize] & VALUE != 0
}

/// What a target may hold. Real clients send octets that RFC 3986 doesn't have (`|`, `{`, `"`), and they are
/// harmless; `#` starts a fragment, which is never sent.
#[inline(always)]
pub(crate) const fn is_target(octet: u8) -> bool {
    CLASSES[octet as usize] & TARGET != 0
}

/// What a host name may hold (reg-name of RFC 3986, section 3.2.2), but the comma: a list of hosts is what two Host
/// fields become when somebody joins them.
#[inline(always)]
pub(crate) const fn is_host(octet: u8) -> bool {
    CLASSES[octet as usize] & HOST != 0
}

/// For the shuffles of the vector back ends: entry `low` has bit `high` set where octet `high << 4 | low` is a token
/// character. Octets from 0x80 up have no entry, they are none.
#[cfg(target_arch = "x86_64")]
pub(crate) const TOKEN_BY_NIBBLES: [u8; 16] = {
    let mut rows = [0; 16];
    let mut octet = 0;
    while octet < 128 {
        if class(octet as u8) & TOKEN != 0 {
            rows[octet & 15] |= 1 << (octet >> 4);
        }
        octet += 1;
    }
    rows
};

/// The bit of the high nibble for [`TOKEN_BY_NIBBLES`].
#[cfg(target_arch = "x86_64")]
pub(crate) const BIT_OF_NIBBLE: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

/// A shuffle's table as the two words that the vector constructors take.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) const fn halves(row: [u8; 16]) -> [i64; 2] {
    let word = u128::from_le_bytes(row);
    [word as i64, (word >> 64) as i64]
}
