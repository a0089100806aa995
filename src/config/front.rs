//! What browsers of other sites may do, and what answers tell about themselves.

use super::reader::{Faults, Section};

/// Which other sites' pages may call the gate from a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// Their origins, as browsers write them; `*` for any. Empty: none.
    pub origins: Vec<String>,
    /// How long a browser may keep the answer to a preflight, in seconds.
    pub max_age_s: u64,
    /// Request headers that such a page may send, besides those of the contract.
    pub headers: Vec<String>,
    /// Answer headers that such a page may read, besides those of the contract.
    pub exposed: Vec<String>,
}

pub(super) fn cors(section: &Section<'_>, faults: &Faults) -> Option<Cors> {
    let each = |key: &'static str, fine: fn(&str) -> bool, message: &str| {
        let values = section.texts(key).into_iter().map(|(text, at)| {
            let fine = fine(&text);
            if !fine {
                faults.note(&at, message);
            }
            fine.then_some(text)
        });
        values.collect::<Vec<_>>().into_iter().collect::<Option<Vec<String>>>()
    };
    let origins = each("origins", is_origin, "an origin is written \"https://shop.example\", or \"*\" for any");
    let header = "a header's name is written in lower case";
    let (headers, exposed) = (each("headers", is_header, header), each("exposed", is_header, header));
    let max_age_s = section.number("max_age_s", 0..=86_400, Some(7_200));
    section.finish();
    Some(Cors { origins: origins?, max_age_s: max_age_s?, headers: headers?, exposed: exposed? })
}

/// Scheme, host and port in lower case, without a path: browsers send nothing else, and it is compared as text.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b':' | b'[' | b']');
    text == "*" || (!host.is_empty() && host.bytes().all(fine))
}

fn is_header(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for text in ["*", "https://shop.example", "http://localhost:8080", "http://[::1]:80"] {
            assert!(is_origin(text), "{text}");
        }
        for text in
            ["", "shop.example", "https://", "https://shop.example/", "https://Shop.example", "null", "https://*"]
        {
            assert!(!is_origin(text), "{text}");
        }
    }
}
