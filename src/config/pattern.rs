//! Path patterns: literal segments and named ones, `/v1/sales/{sku}/orders`.

use std::fmt;

/// A path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Sku,
    Any,
}

/// What the named segments of a matching path hold, still encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The segment `{sku}`.
    pub sku: Option<String>,
}

impl Pattern {
    /// Reads a pattern: `/`-separated, `{sku}` for the sale, any other `{name}` for one segment of any content.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        rest.split('/').map(Segment::parse).collect::<Option<_>>().map(Self)
    }

    /// Whether it leads with the literal segment `first`.
    #[must_use]
    pub fn starts_with(&self, first: &str) -> bool {
        !matches!(self.0.first(), Some(Segment::Literal(text)) if text != first)
    }

    /// Whether one of its segments is `{sku}`.
    #[must_use]
    pub fn has_sku(&self) -> bool {
        self.0.contains(&Segment::Sku)
    }

    /// What the named segments hold, when the path matches.
    #[must_use]
    pub fn matches(&self, path: &str) -> Option<Matched> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let mut matched = Matched::default();
        for segment in &self.0 {
            let part = parts.next()?;
            match segment {
                Segment::Literal(text) if text == part => {}
                Segment::Literal(_) => return None,
                Segment::Sku => matched.sku = Some(part.to_owned()),
                Segment::Any if part.is_empty() => return None,
                Segment::Any => {}
            }
        }
        parts.next().is_none().then_some(matched)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Literal(text) => write!(f, "/{text}")?,
                Segment::Sku => f.write_str("/{sku}")?,
                Segment::Any => f.write_str("/{any}")?,
            }
        }
        Ok(())
    }
}

impl Segment {
    fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('{').map(|t| t.strip_suffix('}'));
        match inner {
            Some(Some("sku")) => Some(Self::Sku),
            Some(Some(name)) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
                Some(Self::Any)
            }
            None if !text.is_empty() && text.bytes().all(literal) => Some(Self::Literal(text.to_owned())),
            _ => None,
        }
    }
}

fn literal(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_paths_only() {
        let orders = Pattern::parse("/v1/sales/{sku}/orders").unwrap();
        assert_eq!(orders.matches("/v1/sales/demo/orders").unwrap().sku.as_deref(), Some("demo"));
        assert_eq!(
            orders.matches("/v1/sales//orders").unwrap().sku.as_deref(),
            Some(""),
            "refused later, as a bad SKU"
        );
        for path in [
            "",
            "/",
            "/v1/sales/demo",
            "/v1/sales/demo/orders/",
            "/v1/sales/demo/orders/1",
            "/V1/sales/demo/orders",
            "v1/sales/demo/orders",
        ] {
            assert_eq!(orders.matches(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for bad in ["", "v1", "/", "/v1/", "/v1//x", "/{}", "/{SKU}", "/a{sku}", "/{sku", "/a b", "/%2f", "/*"] {
            assert_eq!(Pattern::parse(bad), None, "{bad:?}");
        }
    }
}
