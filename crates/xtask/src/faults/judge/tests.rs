//! The judge, with books that are good and with books that lie in one place.

use super::super::books::{Entry, Payment};
use super::super::crowd::Size;
use super::*;

/// What is found of it, and the lie.
type Lie = (&'static str, fn(&mut Case));

type Case = (Crowd, Vec<(u64, Told)>, Books, Option<Loss>);

fn order(id: &str, op: &str, user: &str, status: &str) -> Order {
    Order { id: id.into(), op: op.into(), user: user.into(), quantity: 1, status: status.into(), seq: 1 }
}

fn accepted(op: &str, order: &str) -> (u64, Told) {
    (10, Told::Accepted { op: op.into(), order: order.into() })
}

/// Two of three units sold, one paid; a third order was cancelled, and its late payment is to go back.
fn honest() -> Case {
    let mut crowd = Crowd::of(1, &Size { stock: 9, buyers: 3, within: 10, pay_within: 10 });
    (crowd.stock, crowd.per_user) = (3, 1);
    let entry = |before, quantity| Entry { before, quantity, after: before + quantity };
    let payment = |number: &str, order: &str, status: &str| Payment {
        number: number.into(),
        order: order.into(),
        status: status.into(),
    };
    let books = Books {
        initial: 3,
        sql_stock: 1,
        sale: "open".into(),
        orders: vec![
            order("A", "a", "u1", "paid"),
            order("B", "b", "u2", "pending_payment"),
            order("C", "c", "u3", "cancelled"),
        ],
        ledger: vec![entry(0, 3), entry(3, -1), entry(2, -1), entry(1, -1), entry(0, 1)],
        payments: vec![payment("p1", "A", "applied"), payment("p2", "C", "refund_due")],
        redis_stock: Some(1),
        buyers: [("u1", "A"), ("u2", "B")].map(|(u, o)| (u.into(), [(o.to_owned(), 1)].into())).into(),
        ..Books::default()
    };
    let told = vec![
        accepted("a", "A"),
        accepted("a", "A"),
        accepted("b", "B"),
        accepted("c", "C"),
        (20, Told::Refused { op: "d".into(), code: "sold_out".into() }),
        (20, Told::Paid { number: "p1".into(), order: "A".into() }),
        (20, Told::Cancelled { order: "C".into() }),
        (30, Told::Paid { number: "p2".into(), order: "C".into() }),
    ];
    (crowd, told, books, None)
}

fn broken(change: impl FnOnce(&mut Case)) -> String {
    let mut case = honest();
    change(&mut case);
    judge(&case.0, &case.1, &case.2, case.3.as_ref()).join("\n")
}

#[test]
fn honest_books_pass() {
    assert_eq!(broken(|_| ()), "");
}

#[test]
fn each_lie_is_found() {
    let lies: [Lie; 18] = [
        ("is lost", |case| case.1.push(accepted("x", "X"))),
        ("of 2 orders", |case| case.1.push(accepted("a", "B"))),
        ("has failed", |case| case.2.orders[1].status = "failed".into()),
        ("more than one order", |case| case.2.orders[1].op = "a".into()),
        ("nobody was told", |case| case.1.retain(|(_, told)| *told != accepted("b", "B").1)),
        ("nobody ever answered", |case| case.1.push((1, Told::GaveUp { what: "x".into(), order: None }))),
        ("told to be cancelled", |case| case.1.push((1, Told::Cancelled { order: "B".into() }))),
        ("given up", |case| case.2.dead.push("x".into())),
        ("oversold", |case| case.2.orders.extend(["D", "E"].map(|id| order(id, id, id, "paid")))),
        ("SQL has 2 left", |case| case.2.sql_stock = 2),
        ("in Redis and 1", |case| case.2.redis_stock = Some(2)),
        ("in Redis and 1", |case| case.2.redis_stock = None),
        ("the sale is paused", |case| case.2.sale = "paused".into()),
        ("not at rest", |case| case.2.outbox = 1),
        ("u1 has 2 units", |case| case.2.orders[1].user = "u1".into()),
        ("buyers in SQL", |case| case.2.buyers.clear()),
        ("ledger row 3", |case| case.2.ledger[2].before = 3),
        ("the ledger ends at 0", |case| case.2.ledger.truncate(4)),
    ];
    for (sentence, lie) in lies {
        let found = broken(lie);
        assert!(found.contains(sentence), "{sentence}: {found}");
    }
}

#[test]
fn each_lie_about_money_is_found() {
    let lies: [Lie; 6] = [
        ("got SUCCESS and is None", |case| case.2.payments.truncate(1)),
        ("not recorded", |case| case.1.push((1, Told::NotPaid { number: "p9".into(), order: "B".into() }))),
        ("was believed", |case| case.1.push((1, Told::Believed { order: "B".into() }))),
        ("forged payment", |case| case.2.payments[0].number = format!("{FORGED}A")),
        ("by 0 payments", |case| case.2.payments[0].status = "refund_due".into()),
        ("applied to an order", |case| case.2.orders[0].status = "pending_payment".into()),
    ];
    for (sentence, lie) in lies {
        let found = broken(lie);
        assert!(found.contains(sentence), "{sentence}: {found}");
    }
}

#[test]
fn only_a_loss_that_is_reported_excuses_a_lost_order() {
    let loss =
        |missing| Loss { until: 50, numbers: [("X".to_owned(), 4)].into(), highest_seq: 5, missing, ..Loss::default() };
    assert_eq!(broken(|case| (case.3 = Some(loss(1)), case.1.push(accepted("x", "X"))).1), "");
    assert!(broken(|case| (case.3 = Some(loss(0)), case.1.push(accepted("x", "X"))).1).contains("reported 0"));
    let late = (60, accepted("x", "X").1);
    assert!(broken(|case| (case.3 = Some(loss(1)), case.1.push(late)).1).contains("is lost"));
    // The number was given again, and leads to an order: nobody can tell that another one had it.
    let again = Loss { numbers: [("X".to_owned(), 1)].into(), ..loss(0) };
    assert_eq!(broken(|case| (case.3 = Some(again), case.1.push(accepted("x", "X"))).1), "");
    let gone = Loss { kept: ["Z".to_owned()].into(), ..loss(0) };
    assert!(broken(|case| case.3 = Some(gone)).contains("was settled and is gone"));
    // An operation whose order was lost may have another one.
    let again = |case: &mut Case| {
        case.3 = Some(loss(1));
        case.1.push(accepted("b", "X"));
    };
    assert_eq!(broken(again), "");
}
