//! Lists as responses: pages that are limited in rows and in bytes, each with a link to the next one.
//!
//! `read_page` is for short rows, `stream_rows` sends long ones one at a time.

use crate::error::ApiError;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use http::{HeaderValue, header};
use serde::Serialize;

/// A page of short rows ends before the row that would make it larger than this.
pub const PAGE_BYTES: usize = 1 << 20;
/// The same limit for long rows, which are sent one at a time.
pub const STREAMED_BYTES: usize = 8 << 20;
/// Short rows are sent together up to this size.
const PIECE_BYTES: usize = 32 << 10;
/// How many rows are read from the database at a time.
const BATCH: usize = 200;

/// One page of a list, as the text of a JSON array.
struct Page {
    text: Vec<u8>,
    rows: usize,
    most_rows: usize,
}

impl Page {
    /// Adds a row. Returns false if the page is full and the row belongs to the next one. The first row always fits.
    fn push(&mut self, row: &impl Serialize) -> Result<bool, ApiError> {
        if self.rows == self.most_rows {
            return Ok(false);
        }
        let before = self.text.len();
        if self.rows > 0 {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, row).map_err(ApiError::internal)?;
        if self.rows > 0 && self.text.len() > PAGE_BYTES {
            self.text.truncate(before);
            return Ok(false);
        }
        self.rows += 1;
        Ok(true)
    }

    fn into_response(mut self) -> Response {
        self.text.push(b']');
        json_response(Body::from(self.text))
    }
}

/// Reads a page of short rows in batches until it is full. `read` returns at most so many rows after a cursor, `show` a
/// row's cursor and its JSON. If more rows follow, the `Link` header has the cursor.
pub async fn read_page<R, E, F, S>(
    limit: usize,
    after: Option<&str>,
    read: impl Fn(Option<String>, usize) -> F,
    show: impl Fn(&R) -> (&String, S),
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<Vec<R>, E>>,
    ApiError: From<E>,
    S: Serialize,
{
    let mut page = Page { text: vec![b'['], rows: 0, most_rows: limit };
    let mut cursor = after.map(str::to_owned);
    loop {
        // One row more than is shown tells whether there are more.
        let wanted = BATCH.min(limit - page.rows) + 1;
        let rows = read(cursor.clone(), wanted).await?;
        for row in &rows {
            let (own, shown) = show(row);
            if !page.push(&shown)? {
                return Ok(link_next(page.into_response(), &[], limit, cursor.as_deref()));
            }
            cursor = Some(own.to_owned());
        }
        if rows.len() < wanted {
            return Ok(page.into_response());
        }
    }
}

/// Returns how many rows of these sizes fit on a page; at least one.
pub fn fitting(sizes: impl IntoIterator<Item = usize>, most_rows: usize, most_bytes: usize) -> usize {
    let sums = sizes.into_iter().scan(0usize, |sum, size| {
        *sum = sum.saturating_add(size);
        Some(*sum)
    });
    sums.take(most_rows).enumerate().take_while(|(index, sum)| *index == 0 || *sum <= most_bytes).count()
}

/// Returns the first values that together make at most a page of bytes as JSON, and at least one.
pub fn first_page<T: Serialize>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut bytes = 0;
    let fits = |(place, value): &(usize, T)| {
        bytes += serde_json::to_vec(value).map_or(0, |text| text.len());
        *place == 0 || bytes <= PAGE_BYTES
    };
    values.into_iter().enumerate().take_while(fits).map(|(_, value)| value).collect()
}

/// Responds with a JSON array whose rows are read as the client reads the response. If a row cannot be read, the connection
/// is broken off, so that the client cannot take a part for the whole.
pub fn stream_rows<T, E>(rows: impl Stream<Item = Result<T, E>> + Send + 'static) -> Response
where
    T: Serialize,
    ApiError: From<E>,
{
    let pieces = stream::try_unfold(Some((0, Box::pin(rows))), |state| async {
        let Some((mut sent, mut rows)) = state else { return Ok(None) };
        let mut text = if sent == 0 { vec![b'['] } else { Vec::new() };
        while text.len() < PIECE_BYTES {
            let Some(row) = rows.next().await else {
                text.push(b']');
                return Ok(Some((Bytes::from(text), None)));
            };
            if sent > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, &row.map_err(ApiError::from)?).map_err(ApiError::internal)?;
            sent += 1;
        }
        Ok::<_, ApiError>(Some((Bytes::from(text), Some((sent, rows)))))
    });
    json_response(Body::from_stream(pieces.map_err(|error| error.message().to_owned())))
}

fn json_response(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Names the next page in a `Link` header, if there is one: after the cursor `next`, with the same filters and limit.
pub fn link_next(
    mut response: Response,
    filters: &[(&str, Option<&str>)],
    limit: usize,
    next: Option<&str>,
) -> Response {
    let Some(next) = next else { return response };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(filters.iter().filter_map(|(name, value)| Some((name, (*value)?))));
    query.append_pair("limit", &limit.to_string()).append_pair("after", next);
    // Relative, because the gateway adds a prefix to the path.
    if let Ok(link) = HeaderValue::from_str(&format!("<?{}>; rel=\"next\"", query.finish())) {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// Returns the first characters of a text, and whether the text is longer.
pub fn excerpt(text: &str, characters: usize) -> (&str, bool) {
    match text.char_indices().nth(characters) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use serde_json::Value;
    use std::cell::RefCell;

    async fn json(response: Response) -> Value {
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    fn rows(number: usize, length: usize) -> Vec<(String, String)> {
        (0..number).map(|index| (format!("{index:06}"), "x".repeat(length))).collect()
    }

    async fn page(
        all: &[(String, String)],
        limit: usize,
        after: Option<&str>,
    ) -> (usize, Option<String>, i32) {
        let reads = RefCell::new(0);
        let read = |cursor: Option<String>, wanted: usize| {
            *reads.borrow_mut() += 1;
            let rest = all.iter().filter(move |(id, _)| cursor.as_ref().is_none_or(|cursor| id > cursor));
            let rows: Vec<_> = rest.take(wanted).cloned().collect();
            std::future::ready(Ok::<_, ApiError>(rows))
        };
        let response = read_page(limit, after, read, |(id, text): &(String, String)| (id, text.clone()));
        let response = response.await.unwrap();
        let link = response.headers().get(header::LINK).map(|link| link.to_str().unwrap().to_owned());
        let next = link.map(|link| link.rsplit_once('=').unwrap().0.to_owned());
        let next = next.map(|link| link[link.len() - "000000>; rel".len()..][..6].to_owned());
        (json(response).await.as_array().unwrap().len(), next, reads.into_inner())
    }

    #[tokio::test]
    async fn a_page_ends_at_its_rows_at_its_bytes_or_at_the_end() {
        let short = rows(1_000, 5);
        assert_eq!(page(&short, 1_000, None).await, (1_000, None, 5));
        assert_eq!(page(&short, 999, None).await, (999, Some("000998".into()), 5));
        assert_eq!(page(&short, 10, Some("000989")).await, (10, None, 1));
        assert_eq!(page(&short, 10, Some("000999")).await, (0, None, 1));
        let long = rows(10, PAGE_BYTES / 4);
        assert_eq!(page(&long, 1_000, None).await, (3, Some("000002".into()), 1));
        let huge = rows(2, 2 * PAGE_BYTES);
        assert_eq!(page(&huge, 1_000, None).await, (1, Some("000000".into()), 1));
        assert_eq!(page(&huge, 1_000, Some("000000")).await, (1, None, 1));
    }

    #[test]
    fn at_least_one_row_fits() {
        assert_eq!(fitting([], 10, 5), 0);
        assert_eq!(fitting([9, 1], 10, 5), 1);
        assert_eq!(fitting([2, 3, 1], 10, 5), 2);
        assert_eq!(fitting([1, 1, 1], 2, 5), 2);
    }

    #[test]
    fn values_end_where_a_page_is_full() {
        let values = |length: usize| std::iter::repeat_n(Value::from("x".repeat(length)), 9);
        assert_eq!(first_page(values(5)).len(), 9);
        assert_eq!(first_page(values(PAGE_BYTES / 4)).len(), 3);
        assert_eq!(first_page(values(2 * PAGE_BYTES)).len(), 1);
    }

    #[tokio::test]
    async fn streamed_rows_are_an_array() {
        for number in [0, 1, 3, 50_000] {
            let response = stream_rows(stream::iter((0..number).map(Ok::<i32, ApiError>)));
            assert_eq!(json(response).await, serde_json::json!((0..number).collect::<Vec<_>>()));
        }
    }

    #[test]
    fn an_excerpt_counts_characters() {
        assert_eq!(excerpt("äöü", 3), ("äöü", false));
        assert_eq!(excerpt("äöü", 2), ("äö", true));
        assert_eq!(excerpt("", 0), ("", false));
    }
}
