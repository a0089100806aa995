//! A product as the catalog tells it, and what a product may be.

use serde::{Deserialize, Serialize};
use sluice::model::Sku;

/// How long a copy of a product may be told after its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// Read again when its time is over.
    #[default]
    Standard,
    /// Told on while one process reads it again (logical expiry): for pages that everybody looks at.
    Hot,
}

impl Class {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Hot => "hot",
        }
    }

    /// # Errors
    /// When it is no class.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "standard" => Ok(Self::Standard),
            "hot" => Ok(Self::Hot),
            _ => Err("standard or hot".to_owned()),
        }
    }
}

/// A product. What an order costs is the sale's price, never this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Product {
    /// A SKU.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: String,
    /// In the currency's smallest unit.
    pub(crate) price: u64,
    pub(crate) currency: String,
    pub(crate) class: Class,
    /// 1 at first; grows with every change.
    pub(crate) version: u64,
    /// ms since 1970.
    pub(crate) updated_at: u64,
}

/// Fields that are to be different; the others stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) price: Option<u64>,
    pub(crate) currency: Option<String>,
    pub(crate) class: Option<Class>,
}

impl Change {
    /// Whether nothing is to be different.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { title, description, price, currency, class } = self;
        title.is_none() && description.is_none() && price.is_none() && currency.is_none() && class.is_none()
    }
}

/// Dearest, in the currency's smallest unit.
pub(crate) const DEAREST: u64 = 1_000_000_000_000;
const LONGEST_DESCRIPTION: usize = 2_000;

/// A description.
///
/// # Errors
/// When it is too long, or holds control characters other than line breaks.
pub(crate) fn description(text: &str) -> Result<String, String> {
    let refused = |c: char| c.is_control() && c != '\n';
    if text.chars().count() > LONGEST_DESCRIPTION || text.chars().any(refused) {
        return Err(format!("at most {LONGEST_DESCRIPTION} characters, no control characters but line breaks"));
    }
    Ok(text.to_owned())
}

/// A price.
///
/// # Errors
/// When nobody can mean it.
pub(crate) fn price(price: u64) -> Result<u64, String> {
    if price <= DEAREST { Ok(price) } else { Err(format!("0 to {DEAREST}")) }
}

/// An id that is to be made, or was asked for.
///
/// # Errors
/// When it is none.
pub(crate) fn id(text: &str) -> Result<Sku, String> {
    Sku::parse(text).map_err(|error| format!("it {error}: 1 to 64 of A-Z a-z 0-9 . _ -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_product_is_refused() {
        assert!(description("two\nlines").is_ok());
        assert!(description("a\0b").is_err() && description(&"x".repeat(2_001)).is_err());
        assert!(price(DEAREST).is_ok() && price(DEAREST + 1).is_err());
        assert!(Class::parse("hot") == Ok(Class::Hot) && Class::parse("Hot").is_err());
        for bad in ["", ".", "a b", "a/b", "商品", &"x".repeat(65), "a{b}", "a\n"] {
            assert!(id(bad).is_err(), "{bad:?}");
        }
    }
}
