//! A sale, as a test or a demonstration wants it.

use super::layout::Layout;
use super::origin;
use anyhow::Result;
use std::process::Command;

/// What `sluice-origin sale create` is told. It starts at once and lasts two hours unless said otherwise.
#[derive(Debug, Clone)]
pub struct Sale {
    sku: String,
    stock: u64,
    title: String,
    price: u64,
    per_user: u64,
    starts_at: String,
    ends_at: String,
    pay_within: Option<String>,
    if_missing: bool,
}

impl Sale {
    /// A sale of `stock` items, one for each user.
    #[must_use]
    pub fn new(sku: &str, stock: u64) -> Self {
        Self {
            sku: sku.to_owned(),
            stock,
            title: format!("Sale of {sku}"),
            price: 1999,
            per_user: 1,
            starts_at: "now".to_owned(),
            ends_at: "+2h".to_owned(),
            pay_within: None,
            if_missing: false,
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// How many items one user may have.
    #[must_use]
    pub fn per_user(mut self, per_user: u64) -> Self {
        self.per_user = per_user;
        self
    }

    /// When it starts: `now`, `+10s` or RFC 3339.
    #[must_use]
    pub fn starts_at(mut self, at: &str) -> Self {
        at.clone_into(&mut self.starts_at);
        self
    }

    /// When it ends: `+2h` or RFC 3339.
    #[must_use]
    pub fn ends_at(mut self, at: &str) -> Self {
        at.clone_into(&mut self.ends_at);
        self
    }

    /// How long an order may stay unpaid: `1500ms`, `30m`.
    #[must_use]
    pub fn pay_within(mut self, span: &str) -> Self {
        self.pay_within = Some(span.to_owned());
        self
    }

    /// Leaves a sale that exists already as it is.
    #[must_use]
    pub fn if_missing(mut self) -> Self {
        self.if_missing = true;
        self
    }

    pub(super) fn create(&self, layout: &Layout) -> Result<Command> {
        let mut command = origin::command(layout)?;
        command.args(self.arguments());
        Ok(command)
    }

    /// The arguments of `sluice-origin`.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut words: Vec<String> = vec!["sale".into(), "create".into()];
        let options = [
            ("--sku", self.sku.clone()),
            ("--title", self.title.clone()),
            ("--price", self.price.to_string()),
            ("--currency", "CNY".into()),
            ("--stock", self.stock.to_string()),
            ("--per-user", self.per_user.to_string()),
            ("--starts-at", self.starts_at.clone()),
            ("--ends-at", self.ends_at.clone()),
        ];
        // `--name=value`: a value may begin with a dash.
        words.extend(options.map(|(name, value)| format!("{name}={value}")));
        words.extend(self.pay_within.iter().map(|span| format!("--pay-within={span}")));
        if self.if_missing {
            words.push("--if-missing".into());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sale_becomes_arguments() {
        let words = Sale::new("demo", 7).per_user(2).if_missing().arguments();
        assert_eq!(words.first().map(String::as_str), Some("sale"));
        assert!(words.contains(&"--stock=7".to_owned()));
        assert!(words.contains(&"--per-user=2".to_owned()));
        assert!(words.contains(&"--if-missing".to_owned()));
    }
}
