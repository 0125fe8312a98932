//! Lists a user's documents page by page, with filters.
//!
//! A page starts after the last document that the page before has read, by what the list is sorted by and its id. So a
//! document that is added or removed meanwhile moves no other to another page. Of these, only a title can change: when
//! the document is indexed.

use crate::records::{Cursor, Document, Order, Status};
use crate::search::Filters;
use crate::tables::documents::{Rows, page};
use store::{Db, StoreError};

pub const MOST_LISTED: usize = 1_000;
/// Rows that one statement reads: a row may have 64 KiB of metadata.
const BATCH: usize = 250;
/// The most rows that one page reads, and the most bytes that it returns; the next page continues from there.
const MOST_ROWS: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;

pub struct Listing {
    pub status: Option<Status>,
    pub filters: Filters,
    /// A part of the title or of the file's name, in upper or lower case.
    pub title: Option<String>,
    pub order: Order,
    /// A cursor of the same order.
    pub after: Option<Cursor>,
    pub limit: usize,
}

#[derive(Default)]
pub struct Page {
    pub documents: Vec<Document>,
    /// The cursor of the next page; none if this is the last.
    pub next: Option<Cursor>,
}

impl Listing {
    pub async fn page(self, db: &Db, user_id: &str) -> Result<Page, StoreError> {
        let wanted = self.title.as_ref().map(|title| title.to_lowercase());
        let is_named = |document: &Document, wanted: &String| {
            [&document.title, &document.filename].iter().any(|name| name.to_lowercase().contains(wanted))
        };
        let fits = |document: &Document| {
            self.filters.accept(document) && wanted.as_ref().is_none_or(|wanted| is_named(document, wanted))
        };
        let (mut listed, mut bytes, mut rows_read) = (Page::default(), 0, 0);
        let mut last = self.after;
        loop {
            let rows = Rows { status: self.status, order: self.order, after: last.as_ref(), limit: BATCH };
            let rows = page(db, user_id, rows).await?;
            let is_end = rows.len() < BATCH;
            rows_read += rows.len();
            for document in rows {
                let cursor = Cursor::of(&document, self.order);
                if fits(&document) {
                    if listed.documents.len() == self.limit || bytes > MOST_BYTES {
                        return Ok(Page { next: last, ..listed });
                    }
                    bytes += document.response_bytes();
                    listed.documents.push(document);
                }
                last = Some(cursor);
            }
            if is_end {
                return Ok(listed);
            }
            if rows_read >= MOST_ROWS {
                return Ok(Page { next: last, ..listed });
            }
        }
    }
}
