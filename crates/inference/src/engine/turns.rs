//! Work that waits, of several users who take turns.

use std::collections::VecDeque;
use std::sync::Arc;

/// All users together have room for so many times what one of them has.
const MAX_SHARES: usize = 16;

/// A queue for each user with work. However much one of them has waiting, the next turn is another's.
pub(super) struct Turns<T> {
    /// The user whose turn is next comes first. None of the queues is empty.
    users: VecDeque<(Arc<str>, VecDeque<T>)>,
    /// How much may wait of one user.
    max_of_user: usize,
}

impl<T> Turns<T> {
    pub fn new(max_of_user: usize) -> Self {
        Self { users: VecDeque::new(), max_of_user }
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Returns how much waits of a user.
    pub fn waiting(&self, user: &str) -> usize {
        self.users.iter().find(|(own, _)| **own == *user).map_or(0, |(_, queue)| queue.len())
    }

    /// Adds work of a user. Returns whether there was room for it.
    pub fn push(&mut self, user: &str, work: Vec<T>) -> bool {
        let all: usize = self.users.iter().map(|(_, queue)| queue.len()).sum();
        let has_room = self.waiting(user) + work.len() <= self.max_of_user
            && all + work.len() <= MAX_SHARES * self.max_of_user;
        if !has_room {
            return false;
        }
        match self.users.iter_mut().find(|(own, _)| **own == *user) {
            Some((_, queue)) => queue.extend(work),
            None if work.is_empty() => {}
            None => self.users.push_back((user.into(), work.into())),
        }
        true
    }

    /// Takes what fits into one batch: the work of the user whose turn it is, and if that leaves room, of those after them.
    pub fn take_batch(&mut self, mut fits: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut batch = Vec::new();
        while let Some((_, queue)) = self.users.front_mut() {
            let has_turn = batch.is_empty();
            while let Some(work) = queue.pop_front_if(|work| fits(work)) {
                batch.push(work);
            }
            if queue.is_empty() {
                self.users.pop_front();
                continue;
            }
            if has_turn {
                self.users.rotate_left(1);
            }
            break;
        }
        batch
    }

    /// Takes one piece of work of the first user that is accepted, and lets all others go before that user again.
    pub fn take_one(&mut self, accepts: impl Fn(&str) -> bool) -> Option<T> {
        let place = self.users.iter().position(|(user, _)| accepts(user))?;
        let (user, mut queue) = self.users.remove(place)?;
        let work = queue.pop_front();
        if !queue.is_empty() {
            self.users.push_back((user, queue));
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes batches of two until nothing is left.
    fn batches(turns: &mut Turns<&'static str>) -> Vec<String> {
        let mut batches = Vec::new();
        while !turns.is_empty() {
            let mut room = 2;
            let fits = |_: &&str| {
                let has_room = room > 0;
                room = usize::saturating_sub(room, 1);
                has_room
            };
            batches.push(turns.take_batch(fits).concat());
        }
        batches
    }

    #[test]
    fn a_user_with_much_work_does_not_delay_one_with_little() {
        let mut turns = Turns::new(100);
        assert!(turns.push("ada", vec!["a"; 6]));
        assert!(turns.push("bob", vec!["b", "b"]));
        assert!(turns.push("ada", vec!["a"; 2]));
        assert!(turns.push("cyd", vec!["c"; 4]));
        assert_eq!(batches(&mut turns), ["aa", "bb", "cc", "aa", "cc", "aa", "aa"]);
    }

    #[test]
    fn a_batch_is_filled_with_the_work_of_those_who_come_next_and_keep_their_turn() {
        let mut turns = Turns::new(100);
        assert!(turns.push("ada", vec!["a"; 3]));
        assert!(turns.push("bob", vec!["b"]));
        assert!(turns.push("cyd", vec!["c"; 4]));
        assert_eq!(batches(&mut turns), ["aa", "bc", "cc", "ac"]);
    }

    #[test]
    fn single_pieces_are_taken_in_turn_from_the_users_that_are_accepted() {
        let mut turns = Turns::new(100);
        assert!(turns.push("ada", vec!["a1", "a2"]) && turns.push("bob", vec!["b1", "b2"]));
        let mut taken: Vec<&str> = (0..2).filter_map(|_| turns.take_one(|_| true)).collect();
        taken.extend((0..2).filter_map(|_| turns.take_one(|user| user == "bob")));
        assert_eq!(taken, ["a1", "b1", "b2"]);
        assert_eq!((turns.take_one(|_| true), turns.is_empty()), (Some("a2"), true));
    }

    #[test]
    fn a_user_who_has_filled_the_own_share_leaves_room_for_others() {
        let mut turns = Turns::new(3);
        assert!(turns.push("ada", vec!["a"; 3]) && !turns.push("ada", vec!["a"]));
        assert!(turns.push("bob", Vec::new()) && turns.push("bob", vec!["b"; 3]));
        assert_eq!(turns.users.len(), 2);
        let full = (0..).take_while(|user| turns.push(&user.to_string(), vec!["c"; 3])).count();
        assert_eq!(full, MAX_SHARES - 2, "together they have {MAX_SHARES} shares");
    }
}
