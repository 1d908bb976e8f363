//! How often somebody may try a password: by address, by account, and by both together. What goes well is not
//! counted. Kept in this process alone, so with more servers there are that many times more attempts.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::Instant;

use crate::bucket::{Bucket, Pace};
use crate::problem::Result;
use crate::secrets::too_many;

/// Whose attempts are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Whose {
    /// One address at one account: somebody who guesses.
    Both(IpAddr, String),
    /// One address: somebody who tries a password at many accounts.
    Address(IpAddr),
    /// One account from anywhere. Wide, so that a stranger cannot lock its user out for long.
    Account(String),
    /// Those for whom there was no room.
    Others,
}

impl Whose {
    fn pace(&self) -> Pace {
        let (burst, per_second) = match self {
            Whose::Both(..) => (5.0, 0.1),
            Whose::Address(_) => (20.0, 0.5),
            Whose::Account(_) => (50.0, 1.0),
            Whose::Others => (20.0, 5.0),
        };
        Pace { per_second, burst }
    }
}

/// Counters at a time.
const MOST: usize = 10_000;
/// Bytes of a name that tell accounts apart.
const NAME_BYTES: usize = 255;

#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<Whose, Bucket>>);

/// One attempt, which is counted unless it was good.
pub(crate) struct Attempt<'a> {
    attempts: &'a Attempts,
    whose: Vec<Whose>,
}

impl Attempts {
    /// Counts an attempt, or refuses it. It is counted first, so that many at once are not let through together.
    pub fn begin(&self, address: Option<IpAddr>, name: &str) -> Result<Attempt<'_>> {
        let name = name[..name.floor_char_boundary(NAME_BYTES)].to_owned();
        let mut whose = Vec::with_capacity(3);
        if let Some(address) = address.map(network) {
            whose.push(Whose::Both(address, name.clone()));
            whose.push(Whose::Address(address));
        }
        whose.push(Whose::Account(name));
        let mut attempt = Attempt { attempts: self, whose: Vec::with_capacity(3) };
        let now = Instant::now();
        let mut all = self.0.lock().expect("nothing here panics");
        for one in whose {
            let one = room_for(&mut all, one, now);
            let pace = one.pace();
            let bucket = all.entry(one.clone()).or_insert_with(|| Bucket::full(pace));
            if let Err(wait) = bucket.take(pace, now) {
                drop(all);
                attempt.was_good();
                return Err(too_many("too many attempts to sign in; wait, then try again", wait));
            }
            attempt.whose.push(one);
        }
        Ok(attempt)
    }
}

impl Attempt<'_> {
    /// It does not count.
    pub fn was_good(self) {
        let mut all = self.attempts.0.lock().expect("nothing here panics");
        for one in &self.whose {
            if let Some(bucket) = all.get_mut(one) {
                bucket.give_back(one.pace());
            }
        }
    }
}

/// Whoever has IPv6 has a whole network of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let bits = u128::from(address) & (u128::MAX << 64);
            Ipv6Addr::from(bits).into()
        }
    }
}

fn room_for(all: &mut HashMap<Whose, Bucket>, one: Whose, now: Instant) -> Whose {
    if all.len() >= MOST && !all.contains_key(&one) {
        all.retain(|whose, bucket| !bucket.is_full(whose.pace(), now));
        if all.len() >= MOST {
            return Whose::Others;
        }
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(attempts: &Attempts, address: &str, name: &str, count: usize) -> usize {
        let address = Some(address.parse().unwrap());
        (0..count).filter(|_| attempts.begin(address, name).is_ok()).count()
    }

    #[test]
    fn who_guesses_gets_five_and_others_go_on() {
        let attempts = Attempts::default();
        assert_eq!(tries(&attempts, "192.0.2.1", "ada", 100), 5);
        assert_eq!(tries(&attempts, "192.0.2.2", "ada", 1), 1);
        assert_eq!(tries(&attempts, "192.0.2.1", "bob", 1), 1);
        let refused = attempts.begin("192.0.2.1".parse().ok(), "ada").err().unwrap();
        assert_eq!(refused.code(), crate::problem::Code::TooMany);
    }

    #[test]
    fn one_address_gets_twenty_whatever_the_names_and_a_network_is_one() {
        let attempts = Attempts::default();
        let names = (0..100).map(|n| tries(&attempts, "192.0.2.1", &format!("u{n}"), 1));
        assert_eq!(names.sum::<usize>(), 20);
        let hosts =
            (0..100).map(|n| tries(&attempts, &format!("2001:db8::{n:x}"), &format!("u{n}"), 1));
        assert_eq!(hosts.sum::<usize>(), 20);
    }

    #[test]
    fn what_was_good_does_not_count() {
        let attempts = Attempts::default();
        for _ in 0..100 {
            attempts.begin("192.0.2.1".parse().ok(), "ada").unwrap().was_good();
        }
    }

    #[test]
    fn there_are_only_so_many_counters() {
        let attempts = Attempts::default();
        let through = (0..MOST as u32 + 5_000)
            .filter(|n| attempts.begin(Some(IpAddr::from(n.to_be_bytes())), "ada").is_ok())
            .count();
        assert!(through < 200, "{through}");
        assert!(attempts.0.lock().unwrap().len() <= MOST + 1);
    }
}
