//! A head as one string, which is one crossing: its own lines first, then a line for each header's name and one for
//! its value. `host.js` writes and reads the same.

/// Writes a head: `first`, whose lines stand as they are, and the headers.
pub(super) fn write<'a>(first: String, headers: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut head = first;
    for (name, value) in headers {
        for part in ["\n", name, "\n", value] {
            head.push_str(part);
        }
    }
    head
}

/// Reads a head: its first `N` lines, empty where there are fewer, and the headers.
pub(super) fn read<const N: usize>(head: &str) -> ([&str; N], impl Iterator<Item = (&str, &str)>) {
    let mut lines = head.split('\n');
    let first = [(); N].map(|()| lines.next().unwrap_or_default());
    (first, std::iter::from_fn(move || Some((lines.next()?, lines.next().unwrap_or_default()))))
}
