//! Answers in a model's own words: from the passages that go best with a question, from a whole document, from the files and
//! pictures of a conversation, or from nothing but what was said.

use super::allowance::Allowance;
use super::citations::Citations;
use super::context::{self, PromptParts};
use super::reader;
use super::source::Source;
use super::support::Support;
use super::{Agent, Answer, AnswerStream, Ask, ChatFailure, Chats, fixed_answer, format_reply};
use crate::records::{Document, Scope};
use crate::{media_type, tables};
use llm::{Caller, ChatError, Message, Model, Picture, Reply, Skill, Who};
use reading::Request;

const GROUNDING: &str = include_str!("../../prompts/grounding.md");
const WRITING: &str = include_str!("../../prompts/writing.md");
const TALK: &str = include_str!("../../prompts/talk.md");
/// Tokens of an answer if the request does not limit them.
const MAX_ANSWER_TOKENS: usize = 1024;
/// A writer gets no passages that go less well with the question than this: it would invent an answer from them.
const MIN_RELEVANCE: f32 = -1.2;
/// Those that are looked at, the newest ones.
const MAX_PICTURES: usize = 4;
/// What a picture takes of a model's window at most; vendors count 258 to 1,600.
const PICTURE_TOKENS: usize = 1600;
/// The smallest limit of the vendors.
const MAX_PICTURE_BYTES: i64 = 5 << 20;

/// The files of a conversation.
#[derive(Default)]
pub struct Files {
    /// Whether a question is about its texts: there are some, and no spaces or documents are named.
    pub are_meant: bool,
    pub pictures: Vec<Picture>,
}

/// What a model is to write.
pub struct Order {
    pub request: Request,
    /// How the names in the question are connected.
    pub connections: Vec<String>,
    pub pictures: Vec<Picture>,
}

/// Returns what a model must be good for so that it is better at this than the reader.
pub fn needed(request: Request) -> Skill {
    match request {
        Request::Writing => Skill::Writes,
        _ => Skill::Answers,
    }
}

impl Chats {
    /// Returns the files of the conversation. A question about pictures alone is answered without documents.
    pub(super) async fn files(
        &self,
        ask: &mut Ask,
        model: &Model,
        allowance: &mut Allowance,
    ) -> Result<Files, ChatFailure> {
        let Some(owner_id) = ask.files_owner.clone() else { return Ok(Files::default()) };
        let documents = tables::documents::of_user(&self.db, &owner_id).await?;
        let (pictures, texts): (Vec<Document>, Vec<Document>) = documents.into_iter().partition(is_picture);
        let names_others = !ask.document_ids.is_empty() || !ask.space_ids.is_empty();
        let are_meant = !texts.is_empty() && !names_others;
        ask.without_documents =
            !are_meant && (ask.without_documents || !pictures.is_empty() && !names_others);
        if model.is_blind() && !pictures.is_empty() {
            allowance.notice("This model cannot look at pictures: another one may.".to_owned());
            return Ok(Files { are_meant, pictures: Vec::new() });
        }
        Ok(Files { are_meant, pictures: self.pictures(model, pictures, allowance).await? })
    }

    async fn pictures(
        &self,
        model: &Model,
        documents: Vec<Document>,
        allowance: &mut Allowance,
    ) -> Result<Vec<Picture>, ChatFailure> {
        let most = (model.window() / 2 / PICTURE_TOKENS).clamp(1, MAX_PICTURES);
        let (fitting, large): (Vec<Document>, Vec<Document>) =
            documents.into_iter().partition(|document| document.size <= MAX_PICTURE_BYTES);
        if !large.is_empty() {
            let limit = MAX_PICTURE_BYTES >> 20;
            allowance.notice(format!("Pictures of more than {limit} MiB were not looked at."));
        }
        if fitting.len() > most {
            let newest = if most == 1 { "picture was".to_owned() } else { format!("{most} pictures were") };
            allowance.notice(format!("Only the newest {newest} looked at."));
        }
        let mut pictures = Vec::new();
        for document in fitting.iter().take(most) {
            if let Some(bytes) =
                self.blobs.get(&document.object_key, MAX_PICTURE_BYTES.unsigned_abs()).await?
            {
                let media_type = media_type::of_document(document).to_owned();
                pictures.push(Picture { media_type, bytes });
            }
        }
        Ok(pictures)
    }

    /// Lets the model answer from the conversation alone.
    pub(super) async fn talk(
        &self,
        model: &Model,
        skill: Skill,
        user_id: &str,
        ask: &Ask,
        pictures: Vec<Picture>,
        allowance: Allowance,
    ) -> Result<Answer, ChatFailure> {
        if skill == Skill::Nothing {
            return Ok(Answer::new(model, Vec::new(), allowance, fixed_answer(Self::needs_writer().text)));
        }
        let system = ask.system_prompt.as_deref().unwrap_or(TALK);
        let tokens = answer_tokens(model, ask);
        let kept = tokens + pictures.len() * PICTURE_TOKENS;
        let mut messages = context::conversation(model, system, &ask.history, &ask.query, kept)?;
        show(pictures, &mut messages);
        let reply = self.begin(model, user_id, ask, messages, tokens).await?;
        let parts = format_reply(reply, (Citations::new(0), Support::new(&[])));
        Ok(Answer::new(model, Vec::new(), allowance, parts))
    }

    /// Returns the passages for a model that writes: those of a whole document for a summary, and otherwise those that have to
    /// do with the question, the best first.
    pub(super) async fn find_for_writer(
        &self,
        model: &Model,
        scope: &Scope,
        ask: &Ask,
        request: Request,
        allowance: &mut Allowance,
    ) -> Result<Vec<Source>, ChatFailure> {
        if request == Request::Summary {
            let passages = self.passages_meant(scope, ask, &self.completed(ask, allowance)).await?;
            return Ok(spread(model, passages, model.window().saturating_sub(answer_tokens(model, ask)) / 2));
        }
        let (question, found) =
            self.find_followed(scope, ask, ask.top_k.max(reader::POOL), allowance).await?;
        let judged = self.judge(&question, found, allowance).await?;
        let near = judged.into_iter().filter(|(relevance, _)| *relevance >= MIN_RELEVANCE);
        Ok(near.map(|(_, source)| source).take(ask.top_k).collect())
    }

    /// Lets the model write from whole sources.
    pub(super) async fn write(
        &self,
        model: &Model,
        user_id: &str,
        ask: &Ask,
        sources: Vec<Source>,
        order: Order,
    ) -> Result<(Vec<Source>, AnswerStream), ChatFailure> {
        let is_order = order.request == Request::Writing;
        let system = match (&ask.system_prompt, is_order) {
            (None, true) => WRITING.to_owned(),
            (prompt, _) => {
                let task = prompt.as_deref().unwrap_or_else(|| prompt_of(ask.agent, order.request));
                format!("{}\n{}", task.trim(), GROUNDING.trim())
            }
        };
        let tokens = answer_tokens(model, ask);
        let parts = PromptParts {
            system: &system,
            asked: if is_order { "Task" } else { "Question" },
            question: &ask.query,
            connections: &order.connections,
            goals: &ask.goals,
            history: &ask.history,
            kept: tokens + order.pictures.len() * PICTURE_TOKENS,
        };
        let mut context = context::build(model, &parts, sources)?;
        show(order.pictures, &mut context.messages);
        let reply = self.begin(model, user_id, ask, context.messages, tokens).await?;
        let support = match is_order {
            true => Support::of_order(&context.sources, &format!("{}\n{}", ask.query, ask.history)),
            false => Support::new(&context.sources),
        };
        let filters = (Citations::new(context.sources.len()), support);
        Ok((context.sources, format_reply(reply, filters)))
    }

    async fn begin(
        &self,
        model: &Model,
        user_id: &str,
        ask: &Ask,
        messages: Vec<Message>,
        max_tokens: usize,
    ) -> Result<Reply, ChatError> {
        let chat = llm::Chat {
            messages,
            max_tokens,
            temperature: ask.temperature,
            stop: ask.stop.clone(),
            seed: ask.seed.unwrap_or_else(|| u64::from_le_bytes(self.random.bytes())),
            urgent: true,
            caller: caller(user_id, ask),
            tries: llm::USUAL_TRIES,
            tools: None,
            format: llm::Format::Text,
        };
        model.begin(chat).await
    }
}

/// Returns what a question counts to: its user and, if it names one space only, that space. The user's own id stands for
/// their own documents.
fn caller(user_id: &str, ask: &Ask) -> Caller {
    let space = match ask.space_ids.as_slice() {
        [only] if only != user_id => Some(only.clone()),
        _ => None,
    };
    Caller { space, ..Caller::new(Who::User(user_id.to_owned()), ask.purpose) }
}

/// The default prompt asks for one short sentence, which is no summary.
fn prompt_of(agent: Agent, request: Request) -> &'static str {
    match (agent, request) {
        (Agent::RagChat, Request::Summary) => Agent::ExecutiveSummary.prompt(),
        _ => agent.prompt(),
    }
}

fn is_picture(document: &Document) -> bool {
    let kind = media_type::of_document(document);
    matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn show(pictures: Vec<Picture>, messages: &mut [Message]) {
    if let Some(last) = messages.last_mut() {
        last.pictures = pictures;
    }
}

fn answer_tokens(model: &Model, ask: &Ask) -> usize {
    let asked = ask.choice.as_ref().and_then(|choice| choice.max_tokens);
    asked.unwrap_or(MAX_ANSWER_TOKENS).min(model.window() / 2)
}

/// Returns passages of a whole document, evenly chosen so that they fit.
fn spread(model: &Model, passages: Vec<Source>, room: usize) -> Vec<Source> {
    let all: usize = passages.iter().map(|passage| model.tokens(&passage.text)).sum();
    passages.into_iter().step_by(all.div_ceil(room.max(1)).max(1)).collect()
}
