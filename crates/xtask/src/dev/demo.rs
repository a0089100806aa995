//! The demonstration sale: there is always one that is open and has stock.

use super::Lines;
use crate::edge::Edge;
use crate::stack::{Sale, Stack};
use crate::user;
use anyhow::{Result, bail};
use std::time::Duration;

/// The sale's name; one that has ended or is sold out is followed by `demo-2`, `demo-3`, …
const SKU: &str = "demo";
const STOCK: u64 = 100;
/// As many as there are: pasting the lines again buys one more, until nothing is left.
const PER_USER: u64 = STOCK;
/// The user whose JWT the lines hold.
const USER: &str = "42";
/// How long the lines work. The secret behind them is of this machine only.
const JWT_TTL: Duration = Duration::from_secs(30 * 86_400);

/// Finds or opens the sale and returns the lines to paste.
pub(super) async fn open(stack: &Stack) -> Result<Lines> {
    let edge = Edge::new(&stack.edge_url())?;
    for number in 1..=1000 {
        let sku = name(number);
        let sellable = match edge.sale(&sku).await? {
            Some(sale) => sale.is_sellable(),
            None => {
                create(stack, &sku).await?;
                true
            }
        };
        if sellable {
            edge.until_sellable(&sku).await?;
            return Ok(Lines::new(&stack.edge_url(), &sku, &jwt(stack)?));
        }
    }
    bail!("a thousand demonstration sales are over: `cargo xtask dev --fresh` starts anew")
}

/// The JWT of the user that the lines act as.
pub(super) fn jwt(stack: &Stack) -> Result<String> {
    user::jwt(&stack.secrets().user_jwt, USER, JWT_TTL)
}

async fn create(stack: &Stack, sku: &str) -> Result<()> {
    let sale = Sale::new(sku, STOCK).title("Demonstration").per_user(PER_USER).ends_at("+720h").if_missing();
    stack.create_sale(&sale).await
}

fn name(number: u32) -> String {
    match number {
        1 => SKU.to_owned(),
        more => format!("{SKU}-{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sales_are_numbered_from_the_second_on() {
        assert_eq!(name(1), "demo");
        assert_eq!(name(2), "demo-2");
    }
}
