//! The objects that rows name, page by page.

use sqlx::Row;
use store::{NamedObject, ObjectSum, Reading, StoreError};

const PAGE: i64 = 256;

/// A table whose rows name objects.
struct Source {
    table: &'static str,
    /// What a row is called in messages.
    owner: &'static str,
    /// Returns id, key, size and SHA-256 of rows after the id `$1`, in the order of the ids, at most `$2`. The last two
    /// are NULL if the row does not say.
    select: &'static str,
    /// Finds the row with the id `$1` if it still names the key `$2`.
    find: &'static str,
    /// Whether the service makes the object again if it is missing.
    is_rebuildable: bool,
}

/// Every table that names objects. A table that the database does not have yet is skipped.
const SOURCES: &[Source] = &[
    Source {
        table: "documents",
        owner: "document",
        select: "SELECT id, object_key, size, content_hash FROM documents
            WHERE id > $1 AND object_key <> '' ORDER BY id LIMIT $2",
        find: "SELECT 1 FROM documents WHERE id = $1 AND object_key = $2",
        is_rebuildable: false,
    },
    Source {
        table: "document_files",
        owner: "a version of document",
        select: "SELECT document_id || ' ' || CAST(version AS TEXT), object_key, size, content_hash FROM document_files
            WHERE document_id || ' ' || CAST(version AS TEXT) > $1 ORDER BY 1 LIMIT $2",
        find: "SELECT 1 FROM document_files
            WHERE document_id || ' ' || CAST(version AS TEXT) = $1 AND object_key = $2",
        is_rebuildable: false,
    },
    Source {
        table: "index_snapshots",
        owner: "the index of user",
        select: "SELECT user_id, object_key, CAST(NULL AS BIGINT), CAST(NULL AS TEXT) FROM index_snapshots
            WHERE user_id > $1 AND object_key <> '' ORDER BY user_id LIMIT $2",
        find: "SELECT 1 FROM index_snapshots WHERE user_id = $1 AND object_key = $2",
        is_rebuildable: true,
    },
    Source {
        table: "index_snapshots",
        owner: "the graph of user",
        select: "SELECT user_id, graph_key, CAST(NULL AS BIGINT), CAST(NULL AS TEXT) FROM index_snapshots
            WHERE user_id > $1 AND graph_key <> '' ORDER BY user_id LIMIT $2",
        find: "SELECT 1 FROM index_snapshots WHERE user_id = $1 AND graph_key = $2",
        is_rebuildable: true,
    },
];

/// Where a walk over all named objects stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectCursor {
    source: usize,
    after: String,
}

impl ObjectCursor {
    /// Reads what `to_string` has written.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, after) = text.split_once(' ')?;
        Some(Self { source: source.parse().ok()?, after: after.to_owned() })
    }
}

impl std::fmt::Display for ObjectCursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.source, self.after)
    }
}

/// Returns the next objects after the cursor, and moves it. None at the end.
pub async fn next_page(
    reading: &mut Reading,
    cursor: &mut ObjectCursor,
) -> Result<Option<Vec<NamedObject>>, StoreError> {
    while let Some(source) = SOURCES.get(cursor.source) {
        let page = match reading.has_table(source.table).await? {
            true => page_of(reading, source, &mut cursor.after).await?,
            // The database is of an earlier version, or the service has never run on it.
            false => Vec::new(),
        };
        if !page.is_empty() {
            return Ok(Some(page));
        }
        *cursor = ObjectCursor { source: cursor.source + 1, after: String::new() };
    }
    Ok(None)
}

async fn page_of(
    reading: &mut Reading,
    source: &Source,
    after: &mut String,
) -> Result<Vec<NamedObject>, StoreError> {
    let query = sqlx::query(source.select).bind(after.clone()).bind(PAGE);
    let rows = query.fetch_all(reading.conn()).await?;
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        *after = row.try_get(0)?;
        let (size, sha256): (Option<i64>, Option<String>) = (row.try_get(2)?, row.try_get(3)?);
        let sum = size.zip(sha256).map(|(size, sha256)| ObjectSum { size: size.unsigned_abs(), sha256 });
        page.push(NamedObject {
            owner: source.owner,
            id: after.clone(),
            key: row.try_get(1)?,
            sum,
            is_rebuildable: source.is_rebuildable,
        });
    }
    Ok(page)
}

/// Returns whether the row still names this object.
pub async fn is_named(reading: &mut Reading, object: &NamedObject) -> Result<bool, StoreError> {
    let Some(source) = SOURCES.iter().find(|source| source.owner == object.owner) else { return Ok(false) };
    let query = sqlx::query(source.find).bind(&object.id).bind(&object.key);
    Ok(query.fetch_optional(reading.conn()).await?.is_some())
}
