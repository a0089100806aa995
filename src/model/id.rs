//! Ids as they may appear in a path, a key or a token: checked once, at the border.

use std::fmt;

/// Why a text is no id. Carries no part of the text, so that it can be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadId {
    /// Nothing there.
    Empty,
    /// Longer than the kind allows.
    TooLong,
    /// A character that the kind does not allow.
    Character,
    /// Not laid out as the kind demands.
    Layout,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::TooLong => "is too long",
            Self::Character => "holds a character that is not allowed",
            Self::Layout => "is not laid out as it should be",
        })
    }
}

impl std::error::Error for BadId {}

/// A stock keeping unit: 1 to 64 of `A-Z a-z 0-9 . _ -`, and not `.` or `..`.
/// It stands in Redis keys as it is, so nothing in it may mean something there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sku(String);

impl Sku {
    /// # Errors
    /// [`BadId`] when the text is no SKU.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        bounded(text, 64)?;
        if text.bytes().all(|b| b == b'.') {
            return Err(BadId::Layout);
        }
        if text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Character)
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who buys: the subject of a verified JWT, 1 to 128 bytes without control characters.
/// It reaches Redis keys only as a hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(String);

impl User {
    /// # Errors
    /// [`BadId`] when the text can name no user.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        bounded(text, 128)?;
        if text.chars().any(char::is_control) { Err(BadId::Character) } else { Ok(Self(text.to_owned())) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The number of the partition that a sale's keys live in; `{p<n>}` is its cluster hash tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

/// An order: `<partition>-<ULID>`. The partition travels in it, so that an order is found without its SKU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId {
    text: String,
    partition: Partition,
}

impl OrderId {
    /// Length of the ULID part.
    const ULID: usize = 26;

    /// # Errors
    /// [`BadId`] when the text is no order id.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        bounded(text, 5 + 1 + Self::ULID)?;
        let (partition, ulid) = text.split_once('-').ok_or(BadId::Layout)?;
        let number: u16 = partition.parse().map_err(|_| BadId::Layout)?;
        if number.to_string() != partition || ulid.len() != Self::ULID {
            return Err(BadId::Layout);
        }
        if !ulid.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) {
            return Err(BadId::Character);
        }
        Ok(Self { text: text.to_owned(), partition: Partition(number) })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The partition whose keys hold the order.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition
    }
}

fn bounded(text: &str, most: usize) -> Result<(), BadId> {
    match text.len() {
        0 => Err(BadId::Empty),
        n if n > most => Err(BadId::TooLong),
        _ => Ok(()),
    }
}

macro_rules! shown_as_text {
    ($($kind:ty),*) => {$(
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
shown_as_text!(Sku, User, OrderId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sku_cannot_address_another_key() {
        assert!(Sku::parse("iphone-17_pro.256").is_ok());
        for bad in ["", "a b", "a:b", "{p1}", "a/b", "a*", "é", "a\0", ".", "..", &"x".repeat(65)] {
            assert!(Sku::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_user_may_be_any_text_without_control_characters() {
        for good in ["42", "a*", "{u}", "昵称", "a:b"] {
            assert!(User::parse(good).is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "a\0", &"x".repeat(129)] {
            assert!(User::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_order_id_carries_its_partition() {
        let id = OrderId::parse("12-01JDZV6Q8W3M5K9T2R4X7Y1C0B").unwrap();
        assert_eq!(id.partition(), Partition(12));
        assert!(OrderId::parse("65535-01JDZV6Q8W3M5K9T2R4X7Y1C0B").is_ok(), "the longest");
        for bad in [
            "",
            "12",
            "x-01JDZV6Q8W3M5K9T2R4X7Y1C0B",
            "012-01JDZV6Q8W3M5K9T2R4X7Y1C0B",
            "1-short",
            "70000-01JDZV6Q8W3M5K9T2R4X7Y1C0B",
            "12-01jdzv6q8w3m5k9t2r4x7y1c0b",
            "12-01JDZV6Q8W3M5K9T2R4X7Y1C0-",
            "12-01JDZV6Q8W3M5K9T2R4X7Y1C0BB",
        ] {
            assert!(OrderId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_longest_that_a_kind_allows_is_allowed() {
        assert!(Sku::parse(&"x".repeat(64)).is_ok() && Sku::parse("x").is_ok());
        assert!(User::parse(&"x".repeat(128)).is_ok());
    }

    #[test]
    fn each_fault_says_what_it_is_and_nothing_of_the_text() {
        let said: Vec<String> =
            ["", &"y".repeat(65), "a b", ".."].map(|bad| Sku::parse(bad).unwrap_err().to_string()).into();
        assert_eq!(
            said,
            ["is empty", "is too long", "holds a character that is not allowed", "is not laid out as it should be"]
        );
    }
}
