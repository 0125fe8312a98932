//! The questions of a conversation, and the answers that are being written: asking, following, stopping.

use super::views::{ConversationEvent, MessageView, TurnView, sent};
use crate::chat::{Agent, Ask};
use crate::conversations::{EventId, Follower, Replaces};
use crate::http::App;
use crate::http::caller::Caller;
use crate::http::chat::{LlmConfig, check_scope, choice, wants_events};
use crate::http::events::EventsQuery;
use crate::http::fields::{Number, check_question};
use crate::http::limit::{CountedQuestion, LimitDetails};
use crate::http::scope::{Ids, named_documents, named_spaces, require_visible};
use crate::http::search::TopK;
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use http::{HeaderMap, StatusCode};
use kit::error::{ApiError, ErrorWith};
use kit::fields::{AnyText, Text, Whole};
use kit::headers;
use kit::request::{JsonBody, PathId, Query};
use kit::sse;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A question in a conversation. Null counts as absent.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskBody {
    /// The question, at most 32 KiB. Required, except with `retryOf`, which asks the old question again.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 32768,
        example = "How often must the seal be replaced?")]
    query: Option<AnyText>,
    /// The prompt to use; `rag-chat` if absent.
    agent_type: Option<Agent>,
    /// The model to use; the one that CHAT_PROVIDER and CHAT_MODEL name if absent.
    llm_config: Option<LlmConfig>,
    /// From 0 (deterministic) to 1 (creative); 0.2 if absent.
    #[schema(inline)]
    temperature: Option<Number<0, 1>>,
    /// How many sources a search finds; 5 if absent.
    #[schema(inline)]
    top_k: Option<TopK>,
    /// Ask only about this document. With `retryOf`, the documents of the old question count.
    #[schema(value_type = Option<String>)]
    document_id: Option<AnyText>,
    /// Ask only about these documents, at most 100.
    #[schema(inline)]
    document_ids: Option<Ids>,
    /// Ask only about this space; the caller's own id stands for their own documents. With `retryOf`, the spaces of the old
    /// question count.
    #[schema(value_type = Option<String>)]
    space_id: Option<AnyText>,
    /// Ask only about these spaces.
    #[schema(inline)]
    space_ids: Option<Ids>,
    /// Whether the model alone answers, without searching documents. With `retryOf`, what the old question said counts.
    without_documents: Option<bool>,
    /// The question that this one replaces. All messages after it are deleted.
    #[schema(value_type = Option<String>)]
    edit_of: Option<Text>,
    /// The answer to replace. All messages after it are deleted.
    #[schema(value_type = Option<String>)]
    retry_of: Option<Text>,
}

/// The answer that was stopped.
#[derive(Serialize, ToSchema)]
pub struct Stopped {
    success: bool,
    /// The last answer, which is not being written any more; null if there was no question yet.
    message: Option<MessageView>,
}

/// Returns an event as it is sent, for the OpenAPI document.
pub fn event_example() -> &'static str {
    "id: 33554442\nevent: token\ndata: {\"text\":\"The seal \"}\n\n"
}

/// Asks a question. The answer is written and stored also if the client leaves.
#[utoipa::path(post, path = "/api/conversations/{id}/messages", params(("id" = String, Path)),
    request_body = AskBody, responses(
        (status = 200, description = "With `Accept: text/event-stream`: the events of the answer, to its end. `message` \
            comes first, then `sources`, `token` for each piece, and `done` or `error`.",
            content((ConversationEvent = "text/event-stream", example = event_example)), headers(
                ("X-RateLimit-Remaining" = i64, description = "Questions that are left in this window."),
                ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
            )),
        (status = 202, description = "The question, and the answer that is being written.", body = TurnView, headers(
            ("X-RateLimit-Remaining" = i64, description = "Questions that are left in this window."),
            ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
        )),
        (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id, or it has no message that \
            `editOf` or `retryOf` names, or the caller no document or space that is named."),
        (status = 409, description = "`CONFLICT`: an answer is still being written in this conversation, or it has 1,000 \
            messages."),
        (status = 429, description = "`TOO_MANY_REQUESTS`: too many questions in this minute.",
            body = ErrorWith<LimitDetails>, headers(
                ("X-RateLimit-Remaining" = i64, description = "0."),
                ("X-RateLimit-Reset" = i64, description = "When the window ends, in milliseconds since 1970."),
            )),
    ))]
pub async fn ask(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, ApiError> {
    let streams = wants_events(request.headers());
    let counted = CountedQuestion::count(&app, &user.id).await?;
    let answered = async {
        counted.check(&app)?;
        let JsonBody(body) = JsonBody::<AskBody>::from_request(request, &app).await?;
        let (mut ask, replaces) = read(&app, body)?;
        let files_owner = app.conversations.get(&user.id, &id).await?.files_owner;
        ask.files_owner = Some(files_owner).filter(|owner| !owner.is_empty());
        require_visible(&app, &user.id, &ask).await?;
        let turn = app.conversations.ask(&user.id, &id, ask, replaces).await?;
        if streams {
            return Ok(stream(app.conversations.follow_turn(turn)));
        }
        Ok::<_, ApiError>((StatusCode::ACCEPTED, Json(TurnView::from(turn))).into_response())
    };
    let answered = answered.await;
    Ok(counted.mark(answered))
}

fn read(app: &App, body: AskBody) -> Result<(Ask, Replaces), ApiError> {
    let replaces = match (body.edit_of, body.retry_of) {
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid("`editOf` and `retryOf` exclude each other"));
        }
        (Some(question), None) => Replaces::Question(question.0),
        (None, Some(answer)) => Replaces::Answer(answer.0),
        (None, None) => Replaces::Nothing,
    };
    let query = body.query.unwrap_or_default().0.trim().to_owned();
    if query.is_empty() && !matches!(replaces, Replaces::Answer(_)) {
        return Err(ApiError::invalid("`query` is missing: the question"));
    }
    check_question("query", &query)?;
    let mut ask = Ask::new(query);
    ask.agent = body.agent_type.unwrap_or_default();
    ask.choice = body.llm_config.map(|config| choice(app, config)).transpose()?;
    ask.temperature = body.temperature.map_or(ask.temperature, |temperature| temperature.0 as f32);
    ask.top_k = body.top_k.map_or(ask.top_k, Whole::size);
    ask.document_ids = named_documents(body.document_id, body.document_ids)?;
    ask.space_ids = named_spaces(body.space_id, body.space_ids)?;
    ask.without_documents = body.without_documents.unwrap_or_default();
    check_scope(&ask)?;
    app.chats.check_model(&ask).map_err(|error| ApiError::invalid(error.to_string()))?;
    Ok((ask, replaces))
}

/// Follows the answer that is being written, from the last event that was seen.
#[utoipa::path(get, path = "/api/conversations/{id}/events",
    params(("id" = String, Path), EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was seen: only what comes \
            after it is sent.")),
    responses(
        (status = 200, description = "The events of the answer, to its end. A client that has seen none is sent `message`, \
            `sources`, and the text so far as one `token`. If the answer has ended since the last event that was seen, the \
            rest of it is sent.",
            content((ConversationEvent = "text/event-stream", example = event_example))),
        (status = 204, description = "No answer is being written, and the end of the last one was seen."),
        (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
    ))]
pub async fn follow(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let given = headers::text(&headers, "last-event-id").or(query.last_event_id.as_deref());
    let last_seen = given.and_then(|text| text.trim().parse().ok()).map(EventId);
    match app.conversations.follow(&user.id, &id, last_seen).await? {
        Some(follower) => Ok(stream(follower)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Ends the answer that is being written. What is there of it stays.
#[utoipa::path(post, path = "/api/conversations/{id}/stop", params(("id" = String, Path)), responses(
    (status = 200, description = "No answer is being written any more.", body = Stopped),
    (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
))]
pub async fn stop(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Stopped>, ApiError> {
    let message = app.conversations.stop(&user.id, &id).await?;
    Ok(Json(Stopped { success: true, message: message.map(MessageView::from) }))
}

/// Sends the events of an answer. When the process stops, an answer that it writes gets the time that requests get.
fn stream(follower: Follower) -> Response {
    let events = follower.into_events().map(|event| match event {
        Ok(event) => Some(sent(event)),
        Err(error) => {
            tracing::error!(%error, "the events of an answer break off");
            None
        }
    });
    let until_error = events.take_while(|event| std::future::ready(event.is_some()));
    sse::respond_to_end(until_error.filter_map(std::future::ready))
}
