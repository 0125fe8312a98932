//! What a text asks for, as the reader judges it: an answer, or something that needs no passage.

use super::quoted::Quoted;
use super::{Ask, ChatFailure, Chats};
use crate::records::Scope;
use crate::tables;
use inference::reader::KINDS;

const ABOUT: &str = "I am Stoa's assistant. I answer questions from your documents and cite the passages that I used; \
                     what they do not say, I do not know. I can also show what a document is about, and list the documents.";
const NEEDS_WRITER: &str = "This needs a model that writes, and I can only quote your documents. An administrator can \
                            connect one on the Models screen, without a restart. Or ask what the documents say about it.";
/// How many documents are listed.
const MAX_LISTED: usize = 50;
/// How likely it must be that a text is no question. Of 160 questions by someone else 152 are taken for what they are, and
/// 135 of 160 other requests; with 0.6, 149 and 138.
const SURE: f32 = 0.7;

/// In the order of the reader's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Question,
    Summary,
    Writing,
    Greeting,
    Thanks,
    About,
    Documents,
}

const ALL: [Request; KINDS] = [
    Request::Question,
    Request::Summary,
    Request::Writing,
    Request::Greeting,
    Request::Thanks,
    Request::About,
    Request::Documents,
];

impl Request {
    /// Returns the likeliest, given as logits.
    fn of(kinds: [f32; KINDS]) -> Self {
        let best = ALL.into_iter().zip(kinds).max_by(|one, other| one.1.total_cmp(&other.1));
        let share = |most: f32| 1.0 / kinds.iter().map(|logit| (logit - most).exp()).sum::<f32>();
        best.filter(|(_, logit)| share(*logit) > SURE).map_or(Self::Question, |(request, _)| request)
    }
}

impl Chats {
    /// Returns what a text asks for. Without a reader, everything is a question.
    pub(super) async fn request(&self, text: &str) -> Result<Request, ChatFailure> {
        Ok(self.search.kinds(text).await?.map_or(Request::Question, Request::of))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_surely_no_question_is_none() {
        assert_eq!(Request::of([0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Request::Summary);
        assert_eq!(Request::of([0.0, 900.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Request::Summary);
        assert_eq!(Request::of([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Request::Question);
        assert_eq!(Request::of([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0]), Request::Documents);
    }
}
