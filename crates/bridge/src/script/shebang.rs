//! The first line of scripts written for Upstash.

const FLAG: &str = "allow-key-locking";

/// The script without the key-locking flag; `None` if its first line has no such flag.
///
/// When nothing but the flag is left the line becomes an empty comment: a bare `#!lua` would take the script out
/// of the mode in which Redis runs scripts without a first line, and a removed line would shift error positions.
pub(super) fn without_flag(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = text.split_at_checked(end)?;
    let mut words = str::from_utf8(line).ok()?.split_ascii_whitespace();
    if words.next() != Some("#!lua") {
        return None;
    }
    let mut found = false;
    let mut kept = String::from("#!lua");
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            kept.push(' ');
            kept.push_str(word);
            continue;
        };
        let others: Vec<&str> = flags.split(',').filter(|flag| *flag != FLAG).collect();
        found |= others.len() < flags.split(',').count();
        if !others.is_empty() {
            kept.push_str(" flags=");
            kept.push_str(&others.join(","));
        }
    }
    if kept == "#!lua" {
        kept = String::from("--");
    }
    found.then(|| [kept.as_bytes(), rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> Option<String> {
        without_flag(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_flag_alone_leaves_a_comment_line() {
        assert_eq!(stripped("#!lua flags=allow-key-locking\nreturn 1").as_deref(), Some("--\nreturn 1"));
        assert_eq!(stripped("#!lua  flags=allow-key-locking \r\nreturn 1").as_deref(), Some("--\nreturn 1"));
    }

    #[test]
    fn other_flags_stay() {
        for line in [
            "#!lua flags=no-writes,allow-key-locking\n",
            "#!lua flags=allow-key-locking,no-writes\n",
            "#!lua flags=allow-key-locking flags=no-writes\n",
        ] {
            assert_eq!(stripped(line).as_deref(), Some("#!lua flags=no-writes\n"), "{line}");
        }
    }

    #[test]
    fn other_scripts_are_untouched() {
        for text in [
            "return 1",
            "#!lua\nreturn 1",
            "#!lua flags=no-writes\nreturn 1",
            "#!lua flags=allow-key-lockings\nreturn 1",
            "#!js flags=allow-key-locking\nreturn 1",
            "#!lua flags=allow-key-locking",
            "\n#!lua flags=allow-key-locking\nreturn 1",
        ] {
            assert_eq!(stripped(text), None, "{text}");
        }
    }
}
