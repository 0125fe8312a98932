//! Ends the recognition of a file whose pages take too long: a small file can name one huge picture as hundreds of pages.

use std::time::{Duration, Instant};

use crate::{ExtractError, Limits};

/// After this many pages in a row that were too slow, the others are not tried.
const MOST_SLOW: usize = 3;
/// The part of the time of all allowed pages that one file gets. Most pages take a tenth of what one may.
const SHARE: u32 = 5;

pub(in crate::read) struct Patience {
    deadline: Instant,
    slow: usize,
}

impl Patience {
    pub fn new(limits: &Limits) -> Self {
        let page = Duration::from_secs(limits.ocr.seconds_per_page);
        let all = page.saturating_mul(u32::try_from(limits.ocr.pages).unwrap_or(u32::MAX)) / SHARE;
        Self { deadline: Instant::now() + page.max(all), slow: 0 }
    }

    /// Takes up how a page went, and returns whether the next one is tried.
    pub fn allows_next<T>(&mut self, page: &Result<T, ExtractError>) -> bool {
        self.slow = match page {
            Err(ExtractError::TooSlow { .. }) => self.slow + 1,
            _ => 0,
        };
        self.slow < MOST_SLOW && Instant::now() < self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Ocr;

    #[test]
    fn three_slow_pages_in_a_row_or_the_time_of_the_file_end_it() {
        let slow = || Err::<(), _>(ExtractError::TooSlow { seconds: 1 });
        let mut patience = Patience::new(&Limits::default());
        let pages = [slow(), slow(), Ok(()), slow(), slow(), slow()];
        assert_eq!(pages.map(|page| patience.allows_next(&page)), [true, true, true, true, true, false]);
        let hasty = Limits { ocr: Ocr { seconds_per_page: 0, ..Ocr::default() }, ..Limits::default() };
        assert!(!Patience::new(&hasty).allows_next(&Ok(())));
    }
}
