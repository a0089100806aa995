//! What is asked once nothing is broken any more: every operation again, and one by somebody new.

use super::audit::Auditor;
use super::books::Books;
use super::clients::Clients;
use super::crowd::Crowd;
use super::tally::Told;
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::Duration;

/// Waits for rest, sends every operation that has its order once more to each origin (the answer must be the first one),
/// lets somebody new buy, and waits for rest again. The sentence says that the sale does not sell as it should.
///
/// # Errors
/// When there is no rest within `limit`, twice.
pub async fn after(
    crowd: &Crowd,
    clients: &Clients,
    auditor: &Auditor,
    limit: Duration,
) -> Result<(Books, Option<String>)> {
    auditor.at_rest(limit).await?;
    replay(crowd, clients, auditor).await?;
    let left = auditor.books().await?.redis_stock;
    let order = clients.place("op-newcomer", "newcomer", 1, 0).await;
    // Where nothing was left, an order may have run out of time since.
    let sells = order.is_some() || left == Some(0);
    let broken = (!sells).then(|| format!("{left:?} are left, and somebody new was given {order:?}"));
    Ok((auditor.at_rest(limit).await?, broken))
}

async fn replay(crowd: &Crowd, clients: &Clients, auditor: &Auditor) -> Result<()> {
    let orders: BTreeMap<String, String> =
        auditor.books().await?.orders.into_iter().map(|order| (order.op, order.user)).collect();
    let told = clients.tally.all();
    for (place, buyer) in crowd.buyers.iter().enumerate() {
        let op = crowd.op(place);
        let accepted = told.iter().any(|(_, told)| matches!(told, Told::Accepted { op: of, .. } if *of == op));
        if let Some(user) = orders.get(&op).filter(|_| accepted) {
            for origin in 0..clients.origins.len() {
                clients.place(&op, user, buyer.quantity, origin as u64).await;
            }
        }
    }
    Ok(())
}
