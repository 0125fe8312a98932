//! `POST /api/chat`: a question, answered at once or as a stream of events.

use super::App;
use super::caller::Caller;
use super::error::{LoadProgress, provider_message};
use super::fields::{Number, check_question};
use super::limit::{CountedQuestion, LimitDetails};
use super::scope::{Ids, named_documents, named_spaces, require_visible};
use super::search::TopK;
use crate::chat::{
    Agent, Answer, AnswerPart, Ask, ChatFailure, ModelChoice, ShownSource, Source, SourceBody,
};
use crate::records::User;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, header};
use kit::error::{ApiError, ErrorWith};
use kit::fields::{AnyText, Text, Whole};
use kit::request::{from_fields, read_json};
use kit::sse::{self, Event};
use llm::{Usage, is_model_name};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub const MAX_BODY: usize = 4 << 20;

/// The length of an answer that a caller may ask for.
pub type AnswerTokens = Whole<1, { 1 << 20 }>;

/// A question. Null counts as absent.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatBody {
    /// The question, at most 32 KiB.
    #[schema(value_type = String, min_length = 1, max_length = 32768, example = "How often must the seal be replaced?")]
    query: AnyText,
    /// The prompt to use; `rag-chat` if absent.
    agent_type: Option<Agent>,
    /// What to answer from, at most 100; a search finds it if absent. Not together with ids of documents
    /// or spaces.
    sources: Option<Vec<SourceBody>>,
    /// Search only this document.
    #[schema(value_type = Option<String>)]
    document_id: Option<AnyText>,
    /// Search only these documents.
    #[schema(inline)]
    document_ids: Option<Ids>,
    /// Search only this space; the caller's own id stands for their own documents.
    #[schema(value_type = Option<String>)]
    space_id: Option<AnyText>,
    /// Search only these spaces.
    #[schema(inline)]
    space_ids: Option<Ids>,
    /// Whether the model alone answers, without searching documents.
    without_documents: Option<bool>,
    /// The model to use; the one that an administrator or CHAT_PROVIDER and CHAT_MODEL name if absent.
    llm_config: Option<LlmConfig>,
    /// Replaces the prompt of the agent.
    #[schema(value_type = Option<String>)]
    system_prompt: Option<AnyText>,
    /// From 0 (deterministic) to 1 (creative); 0.2 if absent.
    #[schema(inline)]
    temperature: Option<Number<0, 1>>,
    /// The conversation before.
    #[schema(value_type = Option<String>)]
    history_context: Option<AnyText>,
    /// What the user wants to achieve.
    #[schema(value_type = Option<String>)]
    user_goals: Option<AnyText>,
    /// The user who asks, if an administrator asks for them.
    #[schema(value_type = Option<String>)]
    #[expect(dead_code, reason = "read before the rest, as `Asker`")]
    user_id: Option<AnyText>,
    /// How many sources a search finds; 5 if absent.
    #[schema(inline)]
    top_k: Option<TopK>,
}

/// The user whose question it is. It is counted for them, also if the rest of the body is wrong.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asker {
    user_id: Option<AnyText>,
}

/// A model.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmConfig {
    /// `edge-ai`, `vendor-a`, `vendor-b` or `vendor-c`; also `openai`, `anthropic` or `gemini`.
    #[schema(value_type = String, example = "edge-ai")]
    provider: Text,
    #[schema(value_type = String, required = true, max_length = 200, example = "SmolLM2-135M-Instruct.Q4_1")]
    model: Option<AnyText>,
    /// The most tokens of the answer.
    #[schema(inline)]
    max_tokens: Option<AnswerTokens>,
}

/// An answer.
#[derive(Serialize, ToSchema)]
pub struct ChatAnswer {
    /// Cites its sources as [1], [2].
    #[schema(example = "The seal must be replaced every year [1].")]
    response: String,
    #[serde(flatten)]
    basis: AnswerBasis,
    usage: UsageView,
}

/// What an answer is made from.
#[derive(Clone, Serialize, ToSchema)]
pub struct AnswerBasis {
    /// The sources that were put before the model, in the order of their numbers.
    sources: Vec<ShownSource>,
    /// What was not read for the answer, a sentence each: documents that are still being read, and what was too long.
    notices: Vec<String>,
    #[schema(example = "edge-ai")]
    provider: String,
    #[schema(example = "SmolLM2-135M-Instruct.Q4_1")]
    model: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Usage)]
pub struct UsageView {
    #[schema(example = 311)]
    input_tokens: u64,
    #[schema(example = 14)]
    output_tokens: u64,
    /// Whether `maxTokens` ended the answer.
    #[schema(example = false)]
    cut_off: bool,
}

/// The data of an event.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum ChatEvent {
    /// Of `sources`, which comes first.
    Sources(AnswerBasis),
    /// Of `token`: a piece of the answer.
    Token { text: String },
    /// Of `done`, which comes last: the whole answer.
    Done(ChatAnswer),
    /// Of `error`, which comes last if the model fails.
    Error { error: String, success: bool },
}

/// Answers a question from the user's documents.
#[utoipa::path(post, path = "/api/chat", request_body = ChatBody, responses(
    (status = 200, description = "The answer; with `Accept: text/event-stream` the events `sources`, `token` for each \
        piece, and `done` or `error`.", content((ChatAnswer = "application/json"), (ChatEvent = "text/event-stream")),
        headers(
            ("X-RateLimit-Remaining" = i64, description = "Questions that are left in this window."),
            ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
        )),
    (status = 404, description = "`NOT_FOUND`: the user has no such document or space, or no user has the id `userId`."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many questions in this minute. `BUDGET_USED_UP`: what the user \
        may use of models today is used up.",
        body = ErrorWith<LimitDetails>, headers(
            ("X-RateLimit-Remaining" = i64, description = "0."),
            ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
        )),
    (status = 502, description = "`PROVIDER_FAILED`: the provider of the model failed."),
    (status = 503, description = "`INDEX_LOADING`, `INDEX_UNAVAILABLE`, `UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try \
        again after `Retry-After` seconds.", body = ErrorWith<LoadProgress>),
))]
pub async fn chat(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, ApiError> {
    let streams = wants_events(request.headers());
    let caller_id = caller.0.id.clone();
    let (counted, asked) = match read(&app, caller, request).await {
        Ok((owner, body)) => (CountedQuestion::count(&app, &owner.id).await?, Ok((owner, body))),
        Err(error) => (CountedQuestion::count(&app, &caller_id).await?, Err(error)),
    };
    let answered = async {
        counted.check(&app)?;
        let (owner, body) = asked?;
        let ask = ask(&app, from_fields(body)?)?;
        require_visible(&app, &owner.id, &ask).await?;
        answer(&app, &owner, ask, streams).await
    };
    let answered = answered.await;
    Ok(counted.mark(answered))
}

/// Fails if a question names documents, and is to be answered without them.
pub fn check_scope(ask: &Ask) -> Result<(), ApiError> {
    let names = ask.sources.is_some() || !ask.document_ids.is_empty() || !ask.space_ids.is_empty();
    match ask.without_documents && names {
        true => Err(ApiError::invalid("`withoutDocuments` excludes sources, documents and spaces")),
        false => Ok(()),
    }
}

/// Reads the body, and finds the user who asks.
async fn read(app: &App, caller: Caller, request: Request) -> Result<(User, Value), ApiError> {
    let fields: Map<String, Value> = read_json(request, MAX_BODY).await?;
    let body = Value::Object(fields);
    let Asker { user_id } = from_fields(&body)?;
    let owner = caller.acting_for(app, user_id.as_ref().map(|id| id.0.as_str())).await?;
    Ok((owner, body))
}

/// Returns whether the client accepts a stream of events.
pub fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

fn ask(app: &App, body: ChatBody) -> Result<Ask, ApiError> {
    let query = body.query.0.trim();
    if query.is_empty() {
        return Err(ApiError::invalid("`query` is missing: the question"));
    }
    check_question("query", query)?;
    let mut ask = Ask::new(query);
    ask.agent = body.agent_type.unwrap_or_default();
    ask.sources = body.sources.map(Source::given).transpose().map_err(ApiError::invalid)?;
    ask.document_ids = named_documents(body.document_id, body.document_ids)?;
    ask.space_ids = named_spaces(body.space_id, body.space_ids)?;
    ask.without_documents = body.without_documents.unwrap_or_default();
    check_scope(&ask)?;
    let excluded = [("documentIds", &ask.document_ids), ("spaceIds", &ask.space_ids)];
    if let Some((name, _)) = excluded.iter().find(|(_, ids)| ask.sources.is_some() && !ids.is_empty()) {
        return Err(ApiError::invalid(format!(
            "`sources` and `{name}` exclude each other: given sources are not searched for"
        )));
    }
    ask.choice = body.llm_config.map(|config| choice(app, config)).transpose()?;
    ask.temperature = body.temperature.map_or(ask.temperature, |temperature| temperature.0 as f32);
    ask.top_k = body.top_k.map_or(ask.top_k, Whole::size);
    let filled = |text: Option<AnyText>| text.map(|text| text.0).filter(|text| !text.trim().is_empty());
    ask.system_prompt = filled(body.system_prompt);
    ask.history = filled(body.history_context).unwrap_or_default();
    ask.goals = filled(body.user_goals).unwrap_or_default();
    Ok(ask)
}

/// Reads the model that a request names.
pub fn choice(app: &App, config: LlmConfig) -> Result<ModelChoice, ApiError> {
    let Some(model) = config.model.map(|model| model.0).filter(|model| !model.is_empty()) else {
        let models = app.chats.providers().all();
        let models: Vec<String> =
            models.iter().map(|model| format!("`{}` of {}", model.model(), model.provider())).collect();
        return Err(ApiError::invalid(format!(
            "`llmConfig.model` is missing: a string. The models that are set: {}",
            models.join(", ")
        )));
    };
    if !is_model_name(&model) {
        return Err(ApiError::invalid("`llmConfig.model` is not the name of a model"));
    }
    let max_tokens = config.max_tokens.map(Whole::size);
    Ok(ModelChoice { provider: config.provider.0, model: Some(model), max_tokens })
}

async fn answer(app: &App, owner: &User, ask: Ask, streams: bool) -> Result<Response, ApiError> {
    let answer = app.chats.answer(&owner.id, ask).await?;
    if streams {
        return Ok(sse::respond_to_end(events(answer)));
    }
    let basis = AnswerBasis::of(&answer);
    let (response, usage) = collect(answer).await?;
    Ok(Json(ChatAnswer { response, basis, usage: usage.into() }).into_response())
}

/// Waits for the whole text of an answer.
pub async fn collect(mut answer: Answer) -> Result<(String, Usage), ChatFailure> {
    let (mut text, mut used) = (String::new(), Usage::default());
    while let Some(part) = answer.parts.next().await {
        match part? {
            AnswerPart::Text(piece) => text.push_str(&piece),
            AnswerPart::End(usage) => used = usage,
        }
    }
    Ok((text, used))
}

fn events(answer: Answer) -> impl Stream<Item = Event> {
    let basis = AnswerBasis::of(&answer);
    let first = ("sources", ChatEvent::Sources(basis.clone()));
    let rest = answer.parts.scan((basis, String::new()), |(basis, response), part| {
        let event = match part {
            Ok(AnswerPart::Text(text)) => {
                response.push_str(&text);
                ("token", ChatEvent::Token { text })
            }
            Ok(AnswerPart::End(usage)) => {
                let (basis, response) = (basis.clone(), std::mem::take(response));
                ("done", ChatEvent::Done(ChatAnswer { response, basis, usage: usage.into() }))
            }
            Err(error) => ("error", ChatEvent::Error { error: provider_message(&error), success: false }),
        };
        std::future::ready(Some(event))
    });
    let numbered = stream::iter([first]).chain(rest).zip(stream::iter(1..));
    numbered.map(|((name, data), id)| Event::new(id, name, data))
}

impl AnswerBasis {
    fn of(answer: &Answer) -> Self {
        let sources = answer.sources.iter().map(|source| source.shown.clone()).collect();
        Self {
            sources,
            notices: answer.notices.clone(),
            provider: answer.provider.clone(),
            model: answer.model.clone(),
        }
    }
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        Self { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, cut_off: usage.cut_off }
    }
}
