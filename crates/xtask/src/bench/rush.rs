//! The rush: a small stock, many users at once, and those who cheat.

use super::contender::Contender;
use super::effort::Effort;
use super::field::Field;
use super::load::{Seen, Until};
use super::measure::Sample;
use super::orders::{Order, Press};
use super::scenario::Rounds;
use crate::console::Step;
use anyhow::{Result, ensure};
use sluice::model::Sku;
use sluice::script::keys::Keyspace;
use std::path::Path;

const SKU: &str = "rush";
const UNITS: u64 = 100;
const HONEST: u32 = 18_000;
const FORGERS: u32 = 1_000;
const BOTS: u32 = 1_000;
const BOT_ADDRESSES: u32 = 10;
const BOT_TRIES: u32 = 5;
/// One honest user in so many clicks twice.
const DOUBLE_ONE_IN: u32 = 3;

/// Lets each contender have the whole rush; the rate is that of all requests until the last answer.
pub(super) async fn run(field: &mut Field, effort: Effort) -> Result<Rounds> {
    let step = Step::start("rush");
    let orders = orders();
    let folder = field.stack().folder().to_path_buf();
    let file = Press::new(field.stack().secrets(), &folder)?.print(SKU, SKU, &orders)?;
    let mut rounds = Rounds::new();
    for round in 1..=effort.rushes {
        for contender in effort.rushing {
            step.note(&format!("round {round}, {contender}"));
            let sample = turn(field, *contender, &file, orders.len() as u64).await?;
            rounds.entry(*contender).or_default().push(sample);
        }
    }
    step.done("done");
    Ok(rounds)
}

async fn turn(field: &mut Field, contender: Contender, file: &Path, count: u64) -> Result<Sample> {
    field.open(SKU, UNITS).await?;
    let (sample, seen) = field.run(contender, file, Until::Answered(count), &[202, 403, 409, 429]).await?;
    check(field, contender, &seen).await?;
    Ok(sample)
}

/// All units are sold, to as many buyers, and no forger was let in.
async fn check(field: &mut Field, contender: Contender, seen: &Seen) -> Result<()> {
    let (keys, sku) = (Keyspace::default(), Sku::parse(SKU)?);
    let mut pipe = redis::pipe();
    pipe.get(keys.stock(&sku)).hlen(keys.buyers(&sku));
    let (left, buyers): (i64, u64) = pipe.query_async(&mut field.redis).await?;
    ensure!((left, buyers) == (0, UNITS), "{contender}: {left} units left, {buyers} buyers: {seen:?}");
    ensure!(seen.of_status(403) == u64::from(FORGERS), "{contender}: not every forged token was refused: {seen:?}");
    Ok(())
}

/// All requests, in an order that is mixed and always the same.
fn orders() -> Vec<Order> {
    let honest = (0..HONEST).map(|user| (Order::of(user), if user % DOUBLE_ONE_IN == 0 { 2 } else { 1 }));
    let forgers = (HONEST..HONEST + FORGERS).map(|user| (Order { forged: true, ..Order::of(user) }, 1));
    let first_bot = HONEST + FORGERS;
    let bots = (0..BOTS * BOT_TRIES).map(|n| {
        let bot = n % BOTS;
        let ip = first_bot + bot % BOT_ADDRESSES;
        (Order { user: first_bot + bot, ip, token: first_bot + n, forged: false }, 1)
    });
    let mut clicks: Vec<(Order, usize)> = honest.chain(forgers).chain(bots).collect();
    shuffle(&mut clicks);
    // Both clicks of one user follow each other: they are in flight together.
    clicks.into_iter().flat_map(|(order, times)| std::iter::repeat_n(order, times)).collect()
}

/// Fisher and Yates' shuffle by a linear congruential generator with a fixed seed.
fn shuffle<T>(items: &mut [T]) {
    let mut state = 1u64;
    for i in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = (state >> 33) % (i as u64 + 1);
        items.swap(i, usize::try_from(other).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_rush_has_twenty_thousand_users_double_clicks_forgers_and_bots() {
        let orders = orders();
        assert_eq!(orders.iter().map(|order| order.user).collect::<HashSet<_>>().len(), 20_000);
        assert_eq!(orders.iter().filter(|order| order.forged).count(), 1_000);
        assert_eq!(orders.windows(2).filter(|pair| pair[0] == pair[1]).count(), 6_000);
        let bots = orders.iter().filter(|order| order.user >= HONEST + FORGERS);
        assert_eq!(bots.map(|order| order.ip).collect::<HashSet<_>>().len(), 10);
        assert_eq!(orders, super::orders(), "every run has the same");
    }
}
