//! One batch, one transaction: orders, inventory, ledger and outbox, or nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use sea_orm::sea_query::{Expr, ExprTrait as _};
use sea_orm::{
    ActiveValue::NotSet, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _,
    QueryFilter as _, QuerySelect as _,
};
use sluice::model::{Millis, Partition};

use super::entity::{dead_letter, inventory, inventory_log, order, sale};
use super::fault::SettleFault;
use super::outbox::{self, Event, Task};
use super::sales::{WAREHOUSE, change_status};
use super::{Sql, WORK, int, or_nothing, partitions};
use crate::domain::ledger::{self, Kind};
use crate::domain::order::{DUPLICATE_OF, Placed, status};
use crate::domain::sale::Status;
use crate::settle::plan::{self, Fate};

impl Sql {
    /// Settles a batch of one partition that was read under `epoch`, and says what became of each entry.
    pub(crate) async fn settle(
        &self,
        partition: Partition,
        epoch: i64,
        batch: &[Placed],
        now: Millis,
    ) -> Result<Vec<Fate>, SettleFault> {
        self.within(WORK, async {
            let tx = self.begin().await?;
            let seq = batch.iter().map(|placed| placed.seq).max().unwrap_or(0);
            partitions::lock(&tx, partition, epoch, u64::try_from(seq).unwrap_or(0)).await?;

            let orders = orders_of(&tx, batch).await?;
            let dead = dead_of(&tx, batch).await?;
            let plan = plan::plan(batch, &orders, &dead);
            let fresh: Vec<&Placed> = plan.fresh.iter().filter_map(|at| batch.get(*at)).collect();
            let pay_by = pay_by(&tx, &fresh, now).await?;
            insert(&tx, &fresh, status::PENDING_PAYMENT, &pay_by, now).await?;
            let written = written(&tx, &fresh).await?;
            let (won, lost): (Vec<&Placed>, Vec<&Placed>) =
                fresh.iter().partition(|placed| written.contains(placed.order.as_str()));
            // No order of that request and yet no row: only the buyer's slot can be in the way.
            insert(&tx, &lost, status::FAILED, &pay_by, now).await?;
            let short = take_stock(&tx, &won, now).await?;

            let deadline = |placed: &Placed| pay_by.get(placed.sku.as_str()).copied().unwrap_or(now);
            let mut fates: Vec<Fate> = batch.iter().map(|placed| Fate::Settled { pay_by: deadline(placed) }).collect();
            let mut set = |at: usize, fate: Fate| {
                if let Some(slot) = fates.get_mut(at) {
                    *slot = fate;
                }
            };
            for (at, fate) in plan.known {
                set(at, fate);
            }
            for at in plan.fresh {
                let id = batch.get(at).map(|placed| placed.order.as_str()).unwrap_or_default();
                if short.contains(id) {
                    set(at, Fate::Short);
                } else if !written.contains(id) {
                    set(at, Fate::SlotTaken);
                }
            }
            let restores: Vec<Task> =
                batch.iter().zip(&fates).filter_map(|(placed, fate)| restore(placed, fate)).collect();
            outbox::add(&tx, &restores, now).await?;
            let placed = batch.iter().zip(&fates).filter(|(_, fate)| matches!(fate, Fate::Settled { .. }));
            self.tell(&tx, placed.map(|(placed, _)| Event::of(placed)), now).await?;
            tx.commit().await?;
            Ok(fates)
        })
        .await
    }
}

/// The stock that goes back when an entry met this fate.
fn restore(placed: &Placed, fate: &Fate) -> Option<Task> {
    match fate {
        // Of a dead letter's own order this is the task that it has already; of another order it is a new one.
        Fate::SlotTaken | Fate::Dead => Some(give_back(placed, status::FAILED.to_owned())),
        Fate::Duplicate(first) => Some(give_back(placed, format!("{DUPLICATE_OF}{first}"))),
        Fate::Settled { .. } | Fate::Before | Fate::Short => None,
    }
}

pub(super) fn give_back(placed: &Placed, state: String) -> Task {
    Task::Restore {
        order: placed.order.to_string(),
        sku: placed.sku.to_string(),
        user: placed.user.to_string(),
        quantity: placed.quantity,
        state,
        keeps_buyer: false,
    }
}

fn op_ids(batch: &[Placed]) -> impl Iterator<Item = &str> {
    batch.iter().map(|placed| placed.op_id.as_str())
}

/// The order that each operation of the batch has already.
async fn orders_of(tx: &impl ConnectionTrait, batch: &[Placed]) -> Result<HashMap<String, String>, DbErr> {
    let columns = [order::Column::RequestId, order::Column::Id];
    let select = order::Entity::find().select_only().columns(columns);
    let rows: Vec<(String, String)> =
        select.filter(order::Column::RequestId.is_in(op_ids(batch))).into_tuple().all(tx).await?;
    Ok(rows.into_iter().collect())
}

async fn dead_of(tx: &impl ConnectionTrait, batch: &[Placed]) -> Result<HashSet<String>, DbErr> {
    let select = dead_letter::Entity::find().select_only().column(dead_letter::Column::RequestId);
    let rows: Vec<String> =
        select.filter(dead_letter::Column::RequestId.is_in(op_ids(batch))).into_tuple().all(tx).await?;
    Ok(rows.into_iter().collect())
}

/// Until when orders of each sale are to be paid that are settled now: the buyer's time begins when they can pay.
async fn pay_by(tx: &impl ConnectionTrait, entries: &[&Placed], now: Millis) -> Result<HashMap<String, Millis>, DbErr> {
    let skus: HashSet<&str> = entries.iter().map(|placed| placed.sku.as_str()).collect();
    if skus.is_empty() {
        return Ok(HashMap::new());
    }
    let select = sale::Entity::find().select_only().columns([sale::Column::Sku, sale::Column::PayWithin]);
    let rows: Vec<(String, i64)> = select.filter(sale::Column::Sku.is_in(skus)).into_tuple().all(tx).await?;
    let deadline = |within: i64| now.plus(Millis(u64::try_from(within).unwrap_or(0)));
    Ok(rows.into_iter().map(|(sku, within)| (sku, deadline(within))).collect())
}

/// Inserts an order for each entry where no unique index objects. A failed order takes no slot.
async fn insert(
    tx: &impl ConnectionTrait,
    entries: &[&Placed],
    status: &'static str,
    pay_by: &HashMap<String, Millis>,
    now: Millis,
) -> Result<(), SettleFault> {
    if entries.is_empty() {
        return Ok(());
    }
    let rows = entries.iter().map(|placed| order::ActiveModel {
        id: Set(placed.order.to_string()),
        request_id: Set(placed.op_id.clone()),
        sku: Set(placed.sku.to_string()),
        user_id: Set(placed.user.to_string()),
        quantity: Set(i32::try_from(placed.quantity).unwrap_or(i32::MAX)),
        amount: Set(placed.amount()),
        status: Set(status.to_owned()),
        buyer_slot: Set(if status == status::FAILED { None } else { placed.buyer_slot() }),
        partition: Set(placed.order.partition().0.into()),
        seq: Set(placed.seq),
        created_at: Set(int(placed.at.0)),
        settled_at: Set(int(now.0)),
        pay_by: Set(int(pay_by.get(placed.sku.as_str()).unwrap_or(&now).0)),
        closed_at: Set(None),
        reason: Set(None),
    });
    let insert = order::Entity::insert_many(rows).on_conflict(or_nothing(order::Column::Id));
    insert.exec_without_returning(tx).await?;
    Ok(())
}

/// Which of the entries have their order in SQL now. Row counts would not do: the databases count skipped rows
/// differently.
async fn written(tx: &impl ConnectionTrait, entries: &[&Placed]) -> Result<HashSet<String>, DbErr> {
    if entries.is_empty() {
        return Ok(HashSet::new());
    }
    let ids = entries.iter().map(|placed| placed.order.as_str());
    let select = order::Entity::find().select_only().column(order::Column::Id);
    let rows: Vec<String> = select.filter(order::Column::Id.is_in(ids)).into_tuple().all(tx).await?;
    Ok(rows.into_iter().collect())
}

/// Takes the orders' units from the inventory and writes the ledger, sale by sale. Returns the orders for which SQL had
/// too little: they fail, and their sale is paused. Their stock is not given back to Redis, which has sold too much.
async fn take_stock(
    tx: &impl ConnectionTrait,
    orders: &[&Placed],
    now: Millis,
) -> Result<HashSet<String>, SettleFault> {
    let mut by_sku: BTreeMap<&str, Vec<&Placed>> = BTreeMap::new();
    for placed in orders {
        by_sku.entry(placed.sku.as_str()).or_default().push(placed);
    }
    let mut short = HashSet::new();
    for (sku, mut orders) in by_sku {
        let units = |orders: &[&Placed]| orders.iter().map(|placed| i64::from(placed.quantity)).sum::<i64>();
        if !take(tx, sku, units(&orders)).await? {
            // Not enough for all of them: one by one, in the order in which Redis accepted them.
            let mut taken = Vec::with_capacity(orders.len());
            for placed in orders {
                if take(tx, sku, placed.quantity.into()).await? {
                    taken.push(placed);
                } else {
                    short.insert(placed.order.to_string());
                }
            }
            fail(tx, sku, &short, now).await?;
            orders = taken;
        }
        write_ledger(tx, sku, &orders, units(&orders)).await?;
    }
    Ok(short)
}

/// Whether the inventory had `units`, which are then taken.
async fn take(tx: &impl ConnectionTrait, sku: &str, units: i64) -> Result<bool, DbErr> {
    let update = inventory::Entity::update_many()
        .col_expr(inventory::Column::Stock, Expr::col(inventory::Column::Stock).sub(units))
        .filter(inventory::Column::Sku.eq(sku))
        .filter(inventory::Column::Stock.gte(units));
    Ok(update.exec(tx).await?.rows_affected == 1)
}

async fn fail(tx: &impl ConnectionTrait, sku: &str, orders: &HashSet<String>, now: Millis) -> Result<(), SettleFault> {
    if inventory::Entity::find_by_id(sku).one(tx).await?.is_none() {
        return Err(SettleFault::Data(format!("there is no sale {sku}")));
    }
    let update = order::Entity::update_many()
        .col_expr(order::Column::Status, Expr::val(status::FAILED))
        .col_expr(order::Column::BuyerSlot, Expr::val(None::<String>))
        .filter(order::Column::Id.is_in(orders.iter().map(String::as_str)))
        .filter(order::Column::Status.eq(status::PENDING_PAYMENT));
    update.exec(tx).await?;
    for from in [Status::Open, Status::Scheduled] {
        change_status(tx, sku, from, Status::Paused, now).await?;
    }
    Ok(())
}

/// One row an order. The inventory's row is locked by the update before it, so the chain cannot be cut in between.
async fn write_ledger(tx: &impl ConnectionTrait, sku: &str, orders: &[&Placed], units: i64) -> Result<(), SettleFault> {
    if orders.is_empty() {
        return Ok(());
    }
    let inventory = inventory::Entity::find_by_id(sku).one(tx).await?;
    let after = inventory.ok_or_else(|| SettleFault::Data(format!("there is no sale {sku}")))?.stock;
    let mut stock = after.saturating_add(units);
    let rows = orders.iter().map(|placed| {
        let before = stock;
        stock -= i64::from(placed.quantity);
        inventory_log::ActiveModel {
            id: NotSet,
            log_no: Set(ledger::number(Kind::Order, placed.at, placed.order.as_str())),
            sku: Set(sku.to_owned()),
            warehouse: Set(WAREHOUSE.to_owned()),
            kind: Set(Kind::Order.as_str().to_owned()),
            quantity: Set(-i64::from(placed.quantity)),
            before_stock: Set(before),
            after_stock: Set(stock),
            order_id: Set(Some(placed.order.to_string())),
            operator: Set("settle".to_owned()),
            remark: Set(String::new()),
            created_at: Set(int(placed.at.0)),
        }
    });
    let rows: Vec<_> = rows.collect();
    inventory_log::Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}
