//! `POST /api/chat`: a question, answered at once or as a stream of events.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use super::limit::Counted;
use super::scope::{document_ids, require_owned};
use crate::accounts::User;
use crate::chat::{Agent, Answer, Ask, Choice, Source, Spoken};
use crate::search::MOST_RESULTS;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, header};
use kit::error::ApiError;
use kit::fields::{given, text, whole};
use kit::request::read_json;
use kit::sse::{self, Event};
use llm::{ChatError, Usage, is_model_name};
use serde_json::{Map, Value, json};

pub const MAX_BODY: usize = 4 << 20;
/// A longer text is a document, or belongs into `historyContext`.
const LONGEST_QUERY: usize = 32 << 10;
pub const MOST_ANSWER_TOKENS: usize = 1 << 20;

pub async fn chat(State(app): State<App>, caller: Caller, request: Request) -> Result<Response, Failure> {
    let streams = wants_events(request.headers());
    let asking = caller.0.id.clone();
    let (counted, asked) = match read(&app, caller, request).await {
        Ok((owner, fields)) => {
            (Counted::question(&app, &owner.id).await?, ask(&app, &fields).map(|ask| (owner, ask)))
        }
        Err(Failure(error)) => (Counted::question(&app, &asking).await?, Err(error)),
    };
    let answered = match (counted.allowed(&app), asked) {
        (Err(error), _) | (_, Err(error)) => Err(error.into()),
        (Ok(()), Ok((owner, ask))) => match require_owned(&app, &owner.id, &ask.document_ids).await {
            Ok(()) => answer(&app, &owner, ask, streams).await,
            Err(failure) => Err(failure),
        },
    };
    Ok(counted.mark(answered))
}

/// Who asks, and what the body says.
async fn read(app: &App, caller: Caller, request: Request) -> Result<(User, Map<String, Value>), Failure> {
    let fields: Map<String, Value> = read_json(request, MAX_BODY).await?;
    let owner = caller.acting_for(app, text(&fields, "userId")?).await?;
    Ok((owner, fields))
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// The request, field by field.
fn ask(app: &App, fields: &Map<String, Value>) -> Result<Ask, ApiError> {
    let query = text(fields, "query")?.map(str::trim).filter(|query| !query.is_empty());
    let query = query.ok_or_else(|| ApiError::invalid("`query` is missing: the question"))?;
    refuse_long("query", query)?;
    let mut ask = Ask::new(query);
    if let Some(name) = text(fields, "agentType")? {
        ask.agent = Agent::named(name).map_err(|error| ApiError::invalid(error.to_string()))?;
    }
    if let Some(sources) = given(fields, "sources") {
        ask.sources = Some(Source::given(sources).map_err(ApiError::invalid)?);
    }
    ask.document_ids = document_ids(fields)?;
    if ask.sources.is_some() && !ask.document_ids.is_empty() {
        let message = "`sources` and `documentIds` exclude each other: given sources are not searched for";
        return Err(ApiError::invalid(message));
    }
    if let Some(config) = given(fields, "llmConfig") {
        ask.choice = Some(choice(app, config)?);
    }
    if let Some(temperature) = given(fields, "temperature") {
        let wrong = || ApiError::invalid("`temperature` is not a number from 0 to 1");
        let number = temperature.as_f64().filter(|number| (0.0..=1.0).contains(number));
        ask.temperature = number.ok_or_else(wrong)? as f32;
    }
    if let Some(number) = whole(fields, "topK", "topK", MOST_RESULTS)? {
        ask.top_k = number;
    }
    let filled = |name| Ok::<_, ApiError>(text(fields, name)?.filter(|text| !text.trim().is_empty()));
    ask.system_prompt = filled("systemPrompt")?.map(str::to_owned);
    ask.history = filled("historyContext")?.unwrap_or_default().to_owned();
    ask.goals = filled("userGoals")?.unwrap_or_default().to_owned();
    Ok(ask)
}

/// A question of more bytes than one has, under the name that the request has for it.
pub fn refuse_long(name: &str, question: &str) -> Result<(), ApiError> {
    match question.len() {
        0..=LONGEST_QUERY => Ok(()),
        bytes => Err(ApiError::invalid(format!("`{name}` has {bytes} bytes: at most {LONGEST_QUERY}"))),
    }
}

fn choice(app: &App, config: &Value) -> Result<Choice, ApiError> {
    let config = config.as_object().ok_or_else(|| ApiError::invalid("`llmConfig` is not an object"))?;
    let required = |name: &str| {
        let found = config.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.ok_or_else(|| ApiError::invalid(format!("`llmConfig.{name}` is missing: a string")))
    };
    let model = required("model").map_err(|error| {
        let models = app.chats.providers().all();
        let models: Vec<String> =
            models.iter().map(|model| format!("`{}` of {}", model.model(), model.provider())).collect();
        ApiError::invalid(format!("{}. The models that are set: {}", error.message(), models.join(", ")))
    })?;
    if !is_model_name(model) {
        return Err(ApiError::invalid("`llmConfig.model` is no name of a model"));
    }
    Ok(Choice {
        provider: required("provider")?.to_owned(),
        model: Some(model.to_owned()),
        max_tokens: whole(config, "maxTokens", "llmConfig.maxTokens", MOST_ANSWER_TOKENS)?,
    })
}

async fn answer(app: &App, owner: &User, ask: Ask, streams: bool) -> Result<Response, Failure> {
    let answer = app.chats.answer(&owner.id, ask).await?;
    if streams {
        return Ok(sse::respond_to_end(events(answer)));
    }
    let shown = Shown::of(&answer);
    let (text, usage) = collect(answer).await?;
    Ok(Json(shown.whole(&text, usage)).into_response())
}

/// The whole of an answer.
pub async fn collect(mut answer: Answer) -> Result<(String, Usage), ChatError> {
    let (mut text, mut used) = (String::new(), Usage::default());
    while let Some(spoken) = answer.spoken.next().await {
        match spoken? {
            Spoken::Text(piece) => text.push_str(&piece),
            Spoken::End(usage) => used = usage,
        }
    }
    Ok((text, used))
}

/// `sources`, then a `token` for each piece, then `done` with the whole; or `error` where the model fails on the way.
fn events(answer: Answer) -> impl Stream<Item = Event> {
    let shown = Shown::of(&answer);
    let first =
        ("sources", json!({ "sources": shown.sources, "provider": shown.provider, "model": shown.model }));
    let rest = answer.spoken.scan((shown, String::new()), |(shown, text), spoken| {
        let event = match spoken {
            Ok(Spoken::Text(piece)) => {
                text.push_str(&piece);
                ("token", json!({ "text": piece }))
            }
            Ok(Spoken::End(usage)) => ("done", shown.whole(text, usage)),
            Err(error) => ("error", json!({ "error": Failure::said(error), "success": false })),
        };
        std::future::ready(Some(event))
    });
    let named = stream::iter([first]).chain(rest).zip(stream::iter(1..));
    named.map(|((name, data), id)| Event { id, name: name.to_owned(), data })
}

/// What an answer shows besides its text.
struct Shown {
    sources: Vec<Value>,
    provider: &'static str,
    model: String,
}

impl Shown {
    fn of(answer: &Answer) -> Self {
        let sources = answer.sources.iter().map(|source| Value::Object(source.shown.clone()));
        Self { sources: sources.collect(), provider: answer.provider, model: answer.model.clone() }
    }

    fn whole(&self, text: &str, usage: Usage) -> Value {
        json!({
            "response": text,
            "sources": self.sources,
            "provider": self.provider,
            "model": self.model,
            "usage": {
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "cutOff": usage.cut_off,
            },
        })
    }
}
