//! A schedule inside one process: who comes, and which calls of which origin meet a fault. A pure value of a seed.

use std::collections::HashMap;

use xtask::faults::crowd::{Crowd, Size};
use xtask::faults::random::Random;

use super::Fault;

/// A few buyers within a tenth of a second.
const SIZE: Size = Size { stock: 4, buyers: 6, within: 60, pay_within: 150 };
/// How many calls an origin makes about in that time.
const CALLS: u64 = 140;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) crowd: Crowd,
    /// One or two origins, and for each the faults of its lives: of the first one, of the one after it has stopped, …
    /// The last life has none.
    pub(super) origins: Vec<Vec<HashMap<u64, Fault>>>,
}

impl Schedule {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed, 3);
        let origins = if random.chance(35) { 2 } else { 1 };
        let origins = (0..origins).map(|_| lives(&mut random)).collect();
        Self { crowd: Crowd::of(seed, &SIZE), origins }
    }
}

fn lives(random: &mut Random) -> Vec<HashMap<u64, Fault>> {
    (0..random.within(1, 3)).map(|_| (0..random.within(1, 6)).map(|_| fault(random)).collect()).collect()
}

fn fault(random: &mut Random) -> (u64, Fault) {
    let fault = match random.within(0, 9) {
        0 | 1 => Fault::Refuse,
        2 | 3 => Fault::LoseAnswer,
        4 => Fault::Late(random.within(1, 200)),
        // Now and then for longer than it takes until its entries are taken over.
        5 => Fault::Stall(random.within(1, 300)),
        6 | 7 => Fault::StopBefore,
        _ => Fault::StopAfter,
    };
    (random.within(1, CALLS), fault)
}
