//! Following what changes: first what there is, then what is committed later, in this process or in another.

use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::collections::VecDeque;

use crate::{StoreError, Wakeup};

/// Something that grows, read page by page.
pub trait Source: Send + 'static {
    type Item: Send;

    /// Returns what has been added since the last call, which may be nothing; none if nothing will be added any more.
    fn next_page(&mut self) -> impl Future<Output = Result<Option<Vec<Self::Item>>, StoreError>> + Send;
}

/// Returns the items of a source, those to come included. At most one page of them is in memory. Subscribe before the
/// source reads for the first time, so that what is committed in between is not missed.
pub fn follow<S: Source>(
    wakeup: Wakeup,
    source: S,
) -> impl Stream<Item = Result<S::Item, StoreError>> + Send + use<S> {
    let follower = Follower { wakeup, source, page: VecDeque::new() };
    try_unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        Ok(item.map(|item| (item, follower)))
    })
}

struct Follower<S: Source> {
    wakeup: Wakeup,
    source: S,
    page: VecDeque<S::Item>,
}

impl<S: Source> Follower<S> {
    async fn next(&mut self) -> Result<Option<S::Item>, StoreError> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Ok(Some(item));
            }
            match self.source.next_page().await? {
                None => return Ok(None),
                Some(page) if page.is_empty() => self.wakeup.notified_or_poll().await,
                Some(page) => self.page = page.into(),
            }
        }
    }
}
