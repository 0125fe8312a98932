//! Answers to what is no question: greetings, thanks, questions about the assistant and the documents that there are.

use super::quoted::Quoted;
use super::{Ask, ChatFailure, Chats};
use crate::records::Scope;
use crate::tables;
use reading::Request;

const ABOUT: &str = "I am Stoa's assistant. I answer questions from your documents and cite the passages that I used; \
                     what they do not say, I do not know. I can also show what a document is about, and list the documents.";
const NEEDS_WRITER: &str = "This needs a model that writes, and I can only quote your documents. An administrator can \
                            connect one on the Models screen, without a restart. Or ask what the documents say about it.";
/// How many documents are listed.
const MAX_LISTED: usize = 50;
impl Chats {
    /// Answers what needs neither passages nor a model.
    pub(super) async fn reply(
        &self,
        scope: &Scope,
        ask: &Ask,
        request: Request,
    ) -> Result<Option<Quoted>, ChatFailure> {
        Ok(Some(Quoted::said(match request {
            Request::Greeting => "Hello! Ask me anything about your documents.".to_owned(),
            Request::Thanks => "You are welcome.".to_owned(),
            Request::About => ABOUT.to_owned(),
            Request::Documents => self.list(scope, ask).await?,
            Request::Question | Request::Summary | Request::Writing => return Ok(None),
        })))
    }

    /// Says that only a model that writes can do it.
    pub(super) fn needs_writer() -> Quoted {
        Quoted::said(NEEDS_WRITER)
    }

    async fn list(&self, scope: &Scope, ask: &Ask) -> Result<String, ChatFailure> {
        let (titles, count) =
            tables::documents::newest(&self.db, scope, &ask.document_ids, MAX_LISTED).await?;
        let lines: Vec<String> = titles.iter().map(|title| format!("- {title}")).collect();
        Ok(match count {
            0 => "There are no documents yet.".to_owned(),
            1 => format!("There is one document:\n{}", lines.join("\n")),
            _ if titles.len() < count => {
                format!("There are {count} documents. The newest {}:\n{}", titles.len(), lines.join("\n"))
            }
            _ => format!("There are {count} documents:\n{}", lines.join("\n")),
        })
    }
}
