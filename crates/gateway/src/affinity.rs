//! Whose request it is, as far as the choice of a target is concerned: requests of one caller go to the same knowledge
//! service, which then has the caller's index in memory. Nothing is verified here; the target does that.

use base::token::Route;
use http::HeaderMap;
use kit::headers::{cookie, text};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a session of the knowledge service is found.
const COOKIE: &str = "service_session";
const API_KEY: &str = "x-api-key";

/// A number that is the same for all requests of a session or of an administrator.
#[derive(Clone, Copy, Debug)]
pub struct Affinity(u64);

impl Affinity {
    pub fn of(route: Route, headers: &HeaderMap, user: Option<&str>) -> Option<Self> {
        if route != Route::Core {
            return None;
        }
        let session = text(headers, API_KEY).or_else(|| cookie(headers, COOKIE));
        let name = session.or(user)?;
        Some(Self(hash(name)))
    }

    /// Returns how well a target suits: the highest is chosen. If a target is added or removed, only its own callers move.
    pub fn weight(self, target: &str) -> u64 {
        hash((self.0, target))
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'a>(caller: u64, targets: &[&'a str]) -> &'a str {
        targets.iter().max_by_key(|target| Affinity(hash(caller)).weight(target)).unwrap()
    }

    #[test]
    fn callers_are_shared_out_and_move_only_with_their_target() {
        let all = ["http://a:1", "http://b:1", "http://c:1", "http://d:1"];
        let mut counts = [0; 4];
        for caller in 0..4000 {
            let chosen = best(caller, &all);
            counts[all.iter().position(|target| *target == chosen).unwrap()] += 1;
            if chosen != all[3] {
                assert_eq!(best(caller, &all[..3]), chosen, "only callers of the removed target move");
            }
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}
