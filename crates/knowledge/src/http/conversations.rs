//! A user's conversations: listing, making, reading, renaming, deleting and exporting them. `messages` has the questions and
//! the answers that are being written, `files` what was put into a conversation.

pub mod files;
pub mod messages;
mod views;

use super::App;
use super::caller::Caller;
use super::users::Success;
use crate::conversations::{Listing, MOST_LISTED, export_message, export_title};
use crate::records::{Conversation, ConversationCursor, Message, Scope};
use crate::tables;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::{StatusCode, header};
use kit::error::ApiError;
use kit::fields::{AnyText, Whole};
use kit::headers::attachment;
use kit::page::{self, STREAMED_BYTES};
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use store::{Db, StoreError};
use utoipa::{IntoParams, ToSchema};
use views::{ConversationView, MessageView};

const DEFAULT_LISTED: u64 = 50;
const MOST_MESSAGES_READ: u64 = 200;
/// Messages that one statement reads.
const BATCH: usize = 20;
/// In characters.
const LONGEST_TITLE: usize = 200;
const LONGEST_SEARCH: usize = 200;

/// The number of conversations that a caller may ask for.
pub type ConversationLimit = Whole<1, { MOST_LISTED as u64 }>;
/// The number of messages that a caller may ask for.
pub type MessageLimit = Whole<1, MOST_MESSAGES_READ>;
pub type MessageNumber = Whole<1, { i64::MAX as u64 }>;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConversationsQuery {
    /// The most conversations that are listed; 50 if absent.
    #[param(inline)]
    limit: Option<ConversationLimit>,
    /// The `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<ConversationCursor>,
    /// Only conversations with this in their title or in a message, in upper or lower case; at most 200 characters.
    q: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MessagesQuery {
    /// The most messages that are returned, the newest ones; 200 if absent.
    #[param(inline)]
    limit: Option<MessageLimit>,
    /// The `earlier` of the page before.
    #[param(inline)]
    before: Option<MessageNumber>,
}

/// A conversation to make.
#[derive(Default, Deserialize, ToSchema)]
pub struct NewConversationBody {
    /// At most 200 characters; the beginning of the first question if absent or empty.
    #[schema(value_type = Option<String>, max_length = 200, example = "Maintenance of the pump")]
    title: Option<AnyText>,
}

#[derive(Deserialize, ToSchema)]
pub struct RenameBody {
    /// At most 200 characters.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "Maintenance of the pump")]
    title: AnyText,
}

#[derive(Serialize, ToSchema)]
pub struct ConversationList {
    conversations: Vec<ConversationView>,
    /// What `after` is for the next page; null at the end.
    #[schema(example = "1794821400000.0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct ConversationContent {
    conversation: ConversationView,
    /// The oldest first.
    messages: Vec<MessageView>,
    /// What `before` is for the messages before these; null if there are none.
    #[schema(example = "17")]
    earlier: Option<String>,
}

/// Makes a conversation.
#[utoipa::path(post, path = "/api/conversations", request_body = Option<NewConversationBody>, responses(
    (status = 201, description = "The new conversation.", body = ConversationView),
    (status = 409, description = "`CONFLICT`: the user has 1,000 conversations, the most that are kept."),
))]
pub async fn create(
    State(app): State<App>,
    Caller(user): Caller,
    body: Option<JsonBody<NewConversationBody>>,
) -> Result<Response, ApiError> {
    let NewConversationBody { title } = body.map(|JsonBody(body)| body).unwrap_or_default();
    let title = title.map(|title| one_line(&title.0)).transpose()?.filter(|title| !title.is_empty());
    let conversation = app.conversations.create(&user.id, title).await?;
    Ok((StatusCode::CREATED, Json(ConversationView::from(conversation))).into_response())
}

/// Lists the caller's conversations page by page, the last changed first.
#[utoipa::path(get, path = "/api/conversations", params(ConversationsQuery), responses(
    (status = 200, description = "A page. With `q` it may have fewer than there are, or none, although it has a `next`.",
        body = ConversationList, headers(
            ("Link" = String, description = "The next page, `rel=\"next\"`; absent at the end."),
        )),
))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    Query(query): Query<ConversationsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.unwrap_or(Whole(DEFAULT_LISTED)).size();
    let text = query.q.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_SEARCH) {
        return Err(ApiError::invalid(format!("`q` is longer than {LONGEST_SEARCH} characters")));
    }
    let listing = Listing { text: text.clone(), after: query.after, limit };
    let page = listing.page(&app.db, &user.id).await?;
    let next = page.next.map(|cursor| cursor.to_string());
    let conversations = page.conversations.into_iter().map(ConversationView::from).collect();
    let body = ConversationList { conversations, next: next.clone() };
    Ok(page::link_next(Json(body).into_response(), &[("q", text.as_deref())], limit, next.as_deref()))
}

/// Returns a conversation with its newest messages.
#[utoipa::path(get, path = "/api/conversations/{id}", params(("id" = String, Path), MessagesQuery), responses(
    (status = 200, description = "At most 8 MiB of messages.", body = ConversationContent),
    (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
))]
pub async fn get(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    Query(query): Query<MessagesQuery>,
) -> Result<Json<ConversationContent>, ApiError> {
    let conversation = app.conversations.get(&user.id, &id).await?;
    let limit = query.limit.map_or(MOST_MESSAGES_READ as usize, Whole::size);
    let before = query.before.map_or(i64::MAX, |before| i64::try_from(before.0).unwrap_or(i64::MAX));
    let (messages, earlier) = read_messages(&app.db, &id, before, limit).await?;
    let scope = app.search.scope(&user.id, &[]).await?;
    let messages = messages.into_iter().map(|message| message.within(&scope).into()).collect();
    let earlier = earlier.map(|number| number.to_string());
    Ok(Json(ConversationContent { conversation: conversation.into(), messages, earlier }))
}

/// Returns the newest messages before a number, the oldest first, and the number before which there are more.
async fn read_messages(
    db: &Db,
    conversation_id: &str,
    before: i64,
    limit: usize,
) -> Result<(Vec<Message>, Option<i64>), StoreError> {
    let (mut messages, mut bytes, mut first) = (Vec::new(), 0, before);
    loop {
        let batch = tables::messages::before(db, conversation_id, first, BATCH).await?;
        let is_end = batch.len() < BATCH;
        for message in batch {
            bytes += message.response_bytes();
            if messages.len() == limit || (bytes > STREAMED_BYTES && !messages.is_empty()) {
                messages.reverse();
                return Ok((messages, Some(first)));
            }
            first = message.number;
            messages.push(message);
        }
        if is_end {
            messages.reverse();
            return Ok((messages, None));
        }
    }
}

/// Renames a conversation.
#[utoipa::path(patch, path = "/api/conversations/{id}", params(("id" = String, Path)), request_body = RenameBody,
    responses(
        (status = 200, body = ConversationView),
        (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
    ))]
pub async fn rename(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(body): JsonBody<RenameBody>,
) -> Result<Json<ConversationView>, ApiError> {
    let title = one_line(&body.title.0)?;
    if title.is_empty() {
        return Err(ApiError::invalid("`title` is empty"));
    }
    Ok(Json(app.conversations.rename(&user.id, &id, &title).await?.into()))
}

/// Deletes a conversation. An answer that is being written ends.
#[utoipa::path(delete, path = "/api/conversations/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Success),
    (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Success>, ApiError> {
    app.conversations.delete(&user.id, &id).await?;
    Ok(Json(Success { success: true }))
}

/// Returns a conversation as Markdown, with the sources after each answer.
#[utoipa::path(get, path = "/api/conversations/{id}/export", params(("id" = String, Path)), responses(
    (status = 200, description = "The conversation.", content_type = "text/markdown", body = String,
        headers(("Content-Disposition" = String, description = "`attachment`, named after the title."))),
    (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
))]
pub async fn export(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    let conversation = app.conversations.get(&user.id, &id).await?;
    let name = match conversation.title.as_str() {
        "" => "conversation",
        title => title,
    };
    let disposition = attachment(&format!("{name}.md"));
    let scope = app.search.scope(&user.id, &[]).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8".parse().ok()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    let mut response = Body::from_stream(markdown(app.db.clone(), conversation, scope)).into_response();
    for (name, value) in headers {
        if let Some(value) = value {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

/// Reads the messages as the client reads the response.
fn markdown(
    db: Db,
    conversation: Conversation,
    scope: Scope,
) -> impl Stream<Item = Result<Bytes, StoreError>> {
    let start = (Some(export_title(&conversation.title)), 0);
    stream::try_unfold((db, conversation.id, scope, start), |(db, id, scope, (first, last))| async move {
        let messages = tables::messages::after(&db, &id, last, BATCH).await?;
        let last = messages.last().map_or(last, |message| message.number);
        let messages = messages.into_iter().map(|message| export_message(&message.within(&scope)));
        let text: String = first.into_iter().chain(messages).collect();
        Ok((!text.is_empty()).then(|| (Bytes::from(text), (db, id, scope, (None, last)))))
    })
}

/// Puts a title on one line, and checks its length.
fn one_line(title: &str) -> Result<String, ApiError> {
    let title = title.split_whitespace().collect::<Vec<&str>>().join(" ");
    match title.chars().count() {
        0..=LONGEST_TITLE => Ok(title),
        characters => {
            Err(ApiError::invalid(format!("`title` has {characters} characters: at most {LONGEST_TITLE}")))
        }
    }
}
