//! Commands as the JSON array that travels in the body: never in the URL, where a proxy would log them.

use serde::Serialize;

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Arg<'a> {
    /// Text.
    Str(&'a str),
    /// A whole number.
    Int(u64),
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(text)
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(text: &'a String) -> Self {
        Self::Str(text)
    }
}

impl From<u64> for Arg<'_> {
    fn from(number: u64) -> Self {
        Self::Int(number)
    }
}

/// A command as a JSON array.
#[must_use]
pub fn command(name: &str, args: &[Arg<'_>]) -> String {
    array(64, name, args)
}

/// `EVALSHA` or `EVAL` with its keys counted, as a JSON array.
#[must_use]
pub fn eval(name: &str, script: &str, keys: &[String], args: &[Arg<'_>]) -> String {
    let mut all = Vec::with_capacity(2 + keys.len() + args.len());
    all.extend([Arg::Str(script), Arg::Int(keys.len() as u64)]);
    all.extend(keys.iter().map(Arg::from));
    all.extend_from_slice(args);
    array(96 + script.len(), name, &all)
}

/// A name and its arguments as a JSON array; `spare` bytes are set aside besides what short arguments take.
fn array(spare: usize, name: &str, args: &[Arg<'_>]) -> String {
    let mut out = String::with_capacity(spare + args.len() * 48);
    out.push('[');
    push(&mut out, &name);
    for arg in args {
        out.push(',');
        push(&mut out, arg);
    }
    out.push(']');
    out
}

/// Several commands, each already an array, as the body of `/pipeline`.
#[must_use]
pub fn pipeline(commands: &[String]) -> String {
    format!("[{}]", commands.join(","))
}

fn push<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    // Texts and numbers always serialise.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_numbers_are_plain() {
        assert_eq!(command("SET", &["k\"\n".into(), 7u64.into()]), r#"["SET","k\"\n",7]"#);
        assert_eq!(eval("EVAL", "return 1", &["a".into()], &["x".into()]), r#"["EVAL","return 1",1,"a","x"]"#);
        assert_eq!(pipeline(&[command("PING", &[]), command("PING", &[])]), r#"[["PING"],["PING"]]"#);
    }
}
