//! JSON objects written member by member: a tree of values would cost more of the wasm than all the objects are worth.

/// An object on its way to a text.
#[derive(Debug)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl Object {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// A text; characters that mean something in JSON are escaped.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, &quoted(value))
    }

    /// A text, or `null`.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A whole number.
    #[must_use]
    pub fn number(self, name: &str, value: u64) -> Self {
        self.raw(name, &value.to_string())
    }

    /// `true` or `false`.
    #[must_use]
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    /// A value that is JSON already.
    #[inline(never)]
    #[must_use]
    pub fn raw(mut self, name: &str, json: &str) -> Self {
        let out = &mut self.0;
        if out.len() > 1 {
            out.push(',');
        }
        // Names are the gate's own words, or what may stand in a Redis key: nothing in them is to be escaped.
        for part in ["\"", name, "\":", json] {
            out.push_str(part);
        }
        self
    }

    /// The whole.
    #[must_use]
    pub fn done(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list of values that are JSON already.
#[must_use]
pub fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A list of texts.
#[must_use]
pub fn texts<S: AsRef<str>>(items: &[S]) -> String {
    list(&items.iter().map(|item| quoted(item.as_ref())).collect::<Vec<_>>())
}

#[inline(never)]
fn quoted(text: &str) -> String {
    // A text always serialises.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let odd = "\"\\\n\u{0}é\u{2028}";
        let inner = Object::new().done();
        let text = Object::new().text("a", odd).number("b", u64::MAX).flag("c", true).maybe("d", None).raw("e", &inner);
        let text = text.raw("f", &texts(&[odd, ""])).raw("g", &list(&[inner.clone(), "1".to_owned()])).done();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let want = serde_json::json!({
            "a": odd, "b": u64::MAX, "c": true, "d": null, "e": {}, "f": [odd, ""], "g": [{}, 1],
        });
        assert_eq!(read, want);
        assert_eq!(list(&[]), "[]");
    }
}
