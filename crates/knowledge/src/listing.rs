//! A user's documents page by page, all of them or those that filters let through.
//!
//! A page goes on after the last document that the page before has looked at, by the time of its upload and its id, which
//! never change. So a document that comes or goes meanwhile moves no other to another page.

use crate::documents::{Document, Status};
use crate::search::Filters;
use crate::tables::documents::{Rows, page};
use std::str::FromStr;
use store::{Db, StoreError};
use strum::EnumString;

pub const MOST_LISTED: usize = 1_000;
/// Rows of one statement: a row may have 64 KiB of metadata.
const BATCH: usize = 250;
/// What one page looks at and shows at most; the next one goes on from there.
const MOST_ROWS: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

impl Order {
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// The place of a document in the order of uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub uploaded_at: i64,
    pub id: String,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.uploaded_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (uploaded_at, id) = text.split_once('.').ok_or(())?;
        Ok(Self { uploaded_at: uploaded_at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

pub struct Listing {
    pub status: Option<Status>,
    pub filters: Filters,
    /// What the title has, in whatever case.
    pub title: Option<String>,
    pub order: Order,
    pub after: Option<Cursor>,
    pub limit: usize,
}

#[derive(Default)]
pub struct Page {
    pub documents: Vec<Document>,
    /// Where the next page begins; none where this is the last.
    pub next: Option<Cursor>,
}

impl Listing {
    pub async fn page(self, db: &Db, user_id: &str) -> Result<Page, StoreError> {
        let title = self.title.as_ref().map(|title| title.to_lowercase());
        let fits = |document: &Document| {
            self.filters.accept(document)
                && title.as_ref().is_none_or(|title| document.title.to_lowercase().contains(title))
        };
        let (mut shown, mut bytes, mut looked_at) = (Page::default(), 0, 0);
        let mut last = self.after;
        loop {
            let rows = Rows { status: self.status, order: self.order, after: last.as_ref(), limit: BATCH };
            let rows = page(db, user_id, rows).await?;
            let is_end = rows.len() < BATCH;
            looked_at += rows.len();
            for document in rows {
                let place = Cursor { uploaded_at: document.uploaded_at, id: document.id.clone() };
                if fits(&document) {
                    if shown.documents.len() == self.limit || bytes > MOST_BYTES {
                        return Ok(Page { next: last, ..shown });
                    }
                    bytes += document.shown_bytes();
                    shown.documents.push(document);
                }
                last = Some(place);
            }
            if is_end {
                return Ok(shown);
            }
            if looked_at >= MOST_ROWS {
                return Ok(Page { next: last, ..shown });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let cursor = Cursor { uploaded_at: -5, id: "a.b".to_owned() };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "5", "x.y", ".id", "99999999999999999999.id"] {
            assert_eq!(bad.parse::<Cursor>(), Err(()), "{bad}");
        }
    }
}
