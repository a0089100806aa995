//! For how long a lease that was just granted may be relied on, and what a vote of several servers says.

use std::time::Duration;

/// How much the clocks of a server and of this process may differ over one lease: a hundredth of it and 2 ms, the
/// second part for the millisecond that Redis rounds to.
pub(crate) fn drift(ttl: Duration) -> Duration {
    ttl / 100 + Duration::from_millis(2)
}

/// What is left of a lease of `ttl` that was asked for `elapsed` ago; none when nothing is.
pub(crate) fn validity(ttl: Duration, elapsed: Duration) -> Option<Duration> {
    ttl.checked_sub(elapsed)?.checked_sub(drift(ttl)).filter(|left| !left.is_zero())
}

/// The majority of so many servers.
pub(crate) const fn quorum(servers: usize) -> usize {
    servers / 2 + 1
}

/// What came from the servers so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) yes: usize,
    pub(crate) no: usize,
    pub(crate) faults: usize,
}

/// What the votes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poll {
    /// The servers that have not answered can still decide.
    Open,
    /// A majority agrees.
    Won,
    /// A majority has answered, and no majority can agree any more.
    Refused,
    /// No majority can answer any more.
    Unheard,
}

impl Votes {
    pub(crate) fn answered(self) -> usize {
        self.yes + self.no
    }

    pub(crate) fn poll(self, servers: usize) -> Poll {
        let needed = quorum(servers);
        let spare = servers - needed;
        if self.yes >= needed {
            Poll::Won
        } else if self.faults > spare {
            Poll::Unheard
        } else if self.no + self.faults > spare && self.answered() >= needed {
            Poll::Refused
        } else {
            Poll::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn validity_is_the_ttl_without_what_has_passed_and_drift() {
        assert_eq!(validity(ms(1_000), ms(100)), Some(ms(1_000 - 100 - 10 - 2)));
        assert_eq!(validity(ms(1_000), ms(988)), None, "nothing left is not a lease");
        assert_eq!(validity(ms(1_000), ms(5_000)), None);
        assert_eq!(validity(ms(1_000), ms(987)), Some(ms(1)));
    }

    #[test]
    fn a_majority_decides_and_a_minority_cannot() {
        let votes = |yes, no, faults| Votes { yes, no, faults }.poll(5);
        assert_eq!(votes(3, 0, 0), Poll::Won);
        assert_eq!(votes(3, 0, 2), Poll::Won, "two dead servers do not matter");
        assert_eq!(votes(2, 0, 2), Poll::Open);
        assert_eq!(votes(2, 0, 3), Poll::Unheard, "three dead servers do");
        assert_eq!(votes(2, 3, 0), Poll::Refused);
        assert_eq!(votes(2, 2, 0), Poll::Open);
        assert_eq!(votes(0, 1, 2), Poll::Open, "it cannot be won, but may still be another's or nobody's");
        assert_eq!(votes(0, 3, 2), Poll::Refused, "another has all that live: that is no outage");
        assert_eq!(votes(1, 2, 2), Poll::Refused);
    }

    #[test]
    fn when_all_have_answered_the_vote_is_closed() {
        for servers in [3, 5, 7] {
            for yes in 0..=servers {
                for no in 0..=servers - yes {
                    let votes = Votes { yes, no, faults: servers - yes - no };
                    assert_ne!(votes.poll(servers), Poll::Open, "{votes:?} of {servers}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_two_callers_win_one_vote(servers in (1usize..6).prop_map(|n| 2 * n + 1), split in any::<u64>()) {
            // Each server agrees with one of two callers at most.
            let first = (0..servers).filter(|n| split >> n & 1 == 0).count();
            let poll = |yes: usize| Votes { yes, no: servers - yes, faults: 0 }.poll(servers);
            let won = [first, servers - first].map(poll).into_iter().filter(|poll| *poll == Poll::Won).count();
            prop_assert_eq!(won, 1);
        }

        #[test]
        fn validity_never_reaches_past_the_lease(ttl in 20u64..100_000, elapsed in 0u64..200_000) {
            if let Some(left) = validity(ms(ttl), ms(elapsed)) {
                prop_assert!(left + ms(elapsed) < ms(ttl));
            }
        }
    }
}
