//! `GET /api/documents/{id}/text`: the text of a document, for a reader.

use super::App;
use super::caller::{Access, Caller};
use super::documents::find;
use crate::ingest::IndexingError;
use crate::records::{Document, Status};
use crate::search::chunk_id;
use crate::spans::{self, Utf16};
use crate::tables;
use crate::tables::chunks::ChunkPlace;
use axum::Json;
use axum::extract::State;
use extract::Outline;
use kit::error::ApiError;
use kit::request::PathId;
use serde::Serialize;
use utoipa::ToSchema;

/// The most passages that are listed. A text of the greatest length has fewer, unless it was made to have more.
const MOST_PASSAGES: usize = 50_000;

/// A document's text. Every `start` and `end` counts UTF-16 code units of `text`, as JavaScript does.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentText {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    document_id: String,
    #[schema(example = "Pump manual")]
    title: String,
    /// The blocks of the document, with an empty line between two. Headings are not in it.
    #[schema(example = "The pump P-204 circulates coolant.")]
    text: String,
    /// Whether the text goes on. At most 8 MiB of it are returned.
    #[schema(example = false)]
    truncated: bool,
    /// The pages or slides that have text, if the document has such.
    pages: Vec<TextPage>,
    /// The headings, each where the text below it begins.
    headings: Vec<TextHeading>,
    /// The passages that searches find, in their order.
    passages: Vec<TextPassage>,
}

/// Where a page begins.
#[derive(Serialize, ToSchema)]
pub struct TextPage {
    #[schema(example = 1, minimum = 1)]
    number: u32,
    #[schema(example = 0)]
    start: usize,
}

/// Where the text of a section begins.
#[derive(Serialize, ToSchema)]
pub struct TextHeading {
    /// 1 for the outermost.
    #[schema(example = 1, minimum = 1)]
    level: usize,
    #[schema(example = "Cooling")]
    text: String,
    #[schema(example = 0)]
    start: usize,
}

/// Where a passage is.
#[derive(Serialize, ToSchema)]
pub struct TextPassage {
    /// As search results and sources have it.
    #[schema(example = "6f1d2c3b-4a59-8e7d-9c0b-1a2b3c4d5e6f")]
    id: String,
    /// As `metadata.chunkIndex` of search results.
    #[schema(example = 0)]
    index: i64,
    #[schema(example = 0)]
    start: usize,
    /// Where it ends, exclusive.
    #[schema(example = 34)]
    end: usize,
    /// The page that it begins on, if the document has pages.
    #[schema(example = 1)]
    page: Option<i64>,
}

/// Returns the text that was extracted from a document, with its pages, headings and passages.
#[utoipa::path(get, path = "/api/documents/{id}/text", params(("id" = String, Path)), responses(
    (status = 200, body = DocumentText),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id, or its file is gone."),
    (status = 409, description = "`CONFLICT`: the document is not indexed yet, or could not be."),
))]
pub async fn text(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<DocumentText>, ApiError> {
    let document = find(&app, &user, &id, Access::Read).await?;
    let places = tables::chunks::places(&app.db, &id, MOST_PASSAGES as i64 + 1).await?;
    // A document that is indexed again keeps its passages until the new ones are there.
    if places.is_empty() {
        return Err(ApiError::conflict(why_not(&document)));
    }
    let outline = app.ingest.text(&document).await.map_err(|error| match error {
        IndexingError::File(why) => ApiError::not_found(why),
        IndexingError::Outage(why) => ApiError::storage_unavailable(why),
        IndexingError::Ours(why) => ApiError::internal(why),
        IndexingError::Archive => ApiError::conflict("the document is an archive: index it again first"),
        IndexingError::Stopped => ApiError::not_found("the document was deleted"),
    })?;
    // A long text takes too long for a thread that runs async tasks.
    let counting = tokio::task::spawn_blocking(move || view(document, outline, places));
    Ok(Json(counting.await.map_err(ApiError::internal)?))
}

fn why_not(document: &Document) -> String {
    match (document.status, &document.error) {
        (Status::Processing, _) => "the document is not indexed yet: its text is there when it is".to_owned(),
        (_, Some(error)) => format!("the document could not be indexed, so it has no text: {error}"),
        _ => "the document has no text".to_owned(),
    }
}

fn view(document: Document, outline: Outline, mut places: Vec<ChunkPlace>) -> DocumentText {
    let Outline { mut text, is_cut, pages, headings } = outline;
    let mut truncated = is_cut;
    if let Some(beyond) = places.get(MOST_PASSAGES) {
        let end = text.char_indices().nth(usize::try_from(beyond.start).unwrap_or(0));
        text.truncate(end.map_or(text.len(), |(end, _)| end));
        places.truncate(MOST_PASSAGES);
        truncated = true;
    }
    let passages = places.iter().zip(spans::of_chunks(&text, &places)).map(|(place, span)| TextPassage {
        id: chunk_id(&document.id, place.position),
        index: place.position,
        start: span.start,
        end: span.end,
        page: place.page,
    });
    let passages = passages.collect();
    let mut starts = Utf16::of(&text);
    let pages =
        pages.iter().map(|page| TextPage { number: page.number, start: starts.at_character(page.start) });
    let pages = pages.collect();
    let mut starts = Utf16::of(&text);
    let headings = headings.into_iter().map(|heading| TextHeading {
        level: heading.level,
        text: heading.text,
        start: starts.at_character(heading.start),
    });
    let headings = headings.collect();
    DocumentText {
        document_id: document.id,
        title: document.title,
        text,
        truncated,
        pages,
        headings,
        passages,
    }
}
