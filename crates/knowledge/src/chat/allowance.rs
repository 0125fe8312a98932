//! How much is read for one question, and what the answer says about what was not.

use super::ChatFailure;
use crate::records::Scope;
use crate::search::Search;
use crate::tables;
use inference::reader::Reading;
use std::fmt;
use store::{Db, StoreError};

/// What is read for one question. One with a hundred passages of a search fits; on two cores, this takes some seconds.
pub const MAX_READ_TOKENS: usize = 64 * 1024;
/// More than the models read of a question.
const MAX_QUESTION_BYTES: usize = 4 << 10;
/// Of the conversation before.
const MAX_HISTORY_BYTES: usize = 64 << 10;

/// What may still be read for a question, and what its answer has to say about it.
pub struct Allowance {
    user_id: String,
    tokens: usize,
    /// Documents that a search cannot find yet.
    pub unread: Option<Unread>,
    notices: Vec<String>,
}

/// How many documents are still being read, and of how many.
#[derive(Clone, Copy, Debug)]
pub struct Unread {
    pub unread: i64,
    pub documents: i64,
}

impl Allowance {
    pub fn new(user_id: &str) -> Self {
        Self { user_id: user_id.to_owned(), tokens: MAX_READ_TOKENS, unread: None, notices: Vec::new() }
    }

    /// Counts the documents that a search could find if they were read already.
    pub async fn count_unread(
        &mut self,
        db: &Db,
        scope: &Scope,
        document_ids: &[String],
    ) -> Result<(), StoreError> {
        let (unread, documents) = tables::documents::count_unread(db, scope, document_ids).await?;
        self.unread = (unread > 0).then_some(Unread { unread, documents });
        Ok(())
    }

    /// Reads texts with a question: as many of them, from the first, as fit into what is left.
    pub async fn read(
        &mut self,
        search: &Search,
        question: &str,
        texts: Vec<String>,
    ) -> Result<Vec<Reading>, ChatFailure> {
        let read = search.read_texts(&self.user_id, question, texts, self.tokens).await?;
        self.tokens = self.tokens.saturating_sub(read.tokens);
        Ok(read.readings)
    }

    /// Returns the part of a question that is read.
    pub fn question<'a>(&mut self, question: &'a str) -> &'a str {
        let read = &question[..question.floor_char_boundary(MAX_QUESTION_BYTES)];
        if read.len() < question.len() {
            self.notice(format!("Only the first {} KB of the question were read.", MAX_QUESTION_BYTES >> 10));
        }
        read
    }

    /// Returns the part of a question with the one before it that is read: the end, which is the question.
    pub fn completed(&self, mut question: String) -> String {
        let start = question.ceil_char_boundary(question.len().saturating_sub(2 * MAX_QUESTION_BYTES));
        question.split_off(start)
    }

    /// Returns the part of the conversation before that is read.
    pub fn history<'a>(&mut self, history: &'a str) -> &'a str {
        let start = history.ceil_char_boundary(history.len().saturating_sub(MAX_HISTORY_BYTES));
        if start > 0 {
            self.notice(format!(
                "Only the last {} KB of the conversation were read.",
                MAX_HISTORY_BYTES >> 10
            ));
        }
        &history[start..]
    }

    /// Notes how many of the sources were read, if not all were.
    pub fn note_sources(&mut self, read: usize, sources: usize) {
        if read < sources {
            let text =
                format!("Only the first {read} of {sources} sources were read: together they are too long.");
            self.notice(text);
        }
    }

    pub fn notice(&mut self, text: String) {
        if !self.notices.contains(&text) {
            self.notices.push(text);
        }
    }

    /// Returns what the answer has to say about what was not read.
    pub fn into_notices(self) -> Vec<String> {
        self.unread.map(|unread| format!("{unread}.")).into_iter().chain(self.notices).collect()
    }
}

impl Unread {
    /// Says why nothing was found.
    pub fn nothing_found(self) -> String {
        match self.unread == self.documents {
            true => format!("{self}. Ask again when that is done."),
            false => format!("{self}. The others do not say. Ask again when that is done."),
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unread, documents } = self;
        match unread {
            1 if *documents == 1 => write!(out, "The document is still being read"),
            1 => write!(out, "1 of {documents} documents is still being read"),
            _ => write!(out, "{unread} of {documents} documents are still being read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_many_documents_are_not_read_yet() {
        let said = |unread, documents| Unread { unread, documents }.nothing_found();
        let after = "The others do not say. Ask again when that is done.";
        assert_eq!(said(14, 28), format!("14 of 28 documents are still being read. {after}"));
        assert_eq!(said(1, 3), format!("1 of 3 documents is still being read. {after}"));
        assert_eq!(said(1, 1), "The document is still being read. Ask again when that is done.");
        assert_eq!(said(2, 2), "2 of 2 documents are still being read. Ask again when that is done.");
    }

    #[test]
    fn what_is_too_long_is_cut_and_said_once() {
        let mut allowance = Allowance::new("ada");
        assert_eq!((allowance.question("Why?"), allowance.history("User: Who?")), ("Why?", "User: Who?"));
        let long = "ä".repeat(MAX_HISTORY_BYTES);
        assert_eq!(allowance.question(&long).len(), MAX_QUESTION_BYTES);
        assert_eq!(allowance.question(&long[1 << 4..]).len(), MAX_QUESTION_BYTES);
        assert_eq!(allowance.history(&long).len(), MAX_HISTORY_BYTES);
        assert!(allowance.completed(format!("{long} And why?")).ends_with("ä And why?"));
        assert_eq!(allowance.completed("Who? And why?".to_owned()), "Who? And why?");
        allowance.note_sources(3, 3);
        allowance.note_sources(3, 4);
        let notices = allowance.into_notices();
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert!(notices[2].starts_with("Only the first 3 of 4 sources"), "{notices:?}");
    }
}
