//! The TCP counters of the caller's network namespace: /proc/net/netstat and /proc/net/snmp.

use std::path::Path;

/// The value of one counter, such as `ListenOverflows` or `RetransSegs`; `None` when the kernel has none of that name.
///
/// Both files hold pairs of lines, names above values, each with its group in front (proc_net(5)). The caller's own
/// namespace is read through thread-self.
#[must_use]
pub fn read(proc: &Path, name: &str) -> Option<u64> {
    ["thread-self/net/netstat", "thread-self/net/snmp"].iter().find_map(|file| {
        let text = std::fs::read_to_string(proc.join(file)).ok()?;
        find(&text, name)
    })
}

fn find(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let column = names.split_whitespace().position(|word| word == name);
        if let Some(column) = column {
            return values.split_whitespace().nth(column)?.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_column() {
        let text = "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 3 17\nIpExt: InOctets\nIpExt: 9000\n";
        for (name, value) in
            [("SyncookiesSent", Some(3)), ("ListenOverflows", Some(17)), ("InOctets", Some(9000)), ("Nothing", None)]
        {
            assert_eq!(find(text, name), value, "{name}");
        }
        assert_eq!(find("TcpExt: A B\nTcpExt: 1\n", "B"), None, "cut line");
        assert_eq!(find("", "B"), None);
    }
}
