//! Lists a user's conversations page by page, the last changed first, and finds those with a text.

use crate::records::{Conversation, ConversationCursor};
use crate::tables::conversations;
use store::{Db, StoreError};

pub const MOST_LISTED: usize = 200;
/// Conversations that one statement reads.
const BATCH: usize = 50;
/// The most messages that one page looks through; the next page continues from there.
const MOST_EXAMINED: i64 = 20_000;

pub struct Listing {
    /// A part of the title or of a message, in upper or lower case.
    pub text: Option<String>,
    pub after: Option<ConversationCursor>,
    pub limit: usize,
}

#[derive(Default)]
pub struct Page {
    pub conversations: Vec<Conversation>,
    /// The cursor of the next page; none if this is the last.
    pub next: Option<ConversationCursor>,
}

impl Listing {
    pub async fn page(self, db: &Db, user_id: &str) -> Result<Page, StoreError> {
        let text = self.text.map(|text| text.to_lowercase());
        let (mut page, mut last, mut examined) = (Page::default(), self.after, 0);
        loop {
            let rows = conversations::page(db, user_id, last.as_ref(), text.as_deref(), BATCH).await?;
            let is_end = rows.len() < BATCH;
            for row in rows {
                let conversation = row.conversation;
                let cursor =
                    ConversationCursor { updated_at: conversation.updated_at, id: conversation.id.clone() };
                let in_title = |text: &String| conversation.title.to_lowercase().contains(text.as_str());
                examined += conversation.message_count;
                if row.has_text || text.as_ref().is_none_or(in_title) {
                    if page.conversations.len() == self.limit {
                        return Ok(Page { next: last, ..page });
                    }
                    page.conversations.push(conversation);
                }
                last = Some(cursor);
            }
            if is_end {
                return Ok(page);
            }
            if text.is_some() && examined >= MOST_EXAMINED {
                return Ok(Page { next: last, ..page });
            }
        }
    }
}
