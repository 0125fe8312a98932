//! How a model says that the things in documents are connected.

use crate::records::Scope;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, placeholders};

/// Those that are said most often; a graph shows fewer edges.
const MAX_VERBS: i64 = 20_000;

/// From one node of the graph, by a verb, to another: by their ids.
pub type Relation = (String, String, String);

/// Forgets what a model has said of a document.
pub async fn forget(tx: &mut Tx, document_id: &str) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM relations WHERE document_id = $1").bind(document_id);
    delete.execute(tx.conn()).await?;
    Ok(())
}

/// Adds what a model says of some passages of a document.
pub async fn add(
    tx: &mut Tx,
    document_id: &str,
    relations: &HashMap<Relation, i64>,
) -> Result<(), StoreError> {
    for ((source, verb, target), count) in relations {
        let insert =
            "INSERT INTO relations (document_id, source, verb, target, count) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (document_id, source, verb, target) DO UPDATE SET count = relations.count + excluded.count";
        let query = sqlx::query(insert).bind(document_id).bind(source).bind(verb).bind(target);
        query.bind(count).execute(tx.conn()).await?;
    }
    Ok(())
}

/// Returns the verb that is said most often from one node to another, in the documents of a scope.
pub async fn verbs(db: &Db, scope: &Scope) -> Result<HashMap<(String, String), String>, StoreError> {
    // Of two nodes the first row counts, which is the one that is said most often.
    let select = AssertSqlSafe(format!(
        "SELECT source, target, verb FROM relations JOIN documents ON documents.id = relations.document_id
         WHERE documents.user_id IN ({}) GROUP BY source, target, verb ORDER BY SUM(count) DESC, verb LIMIT {MAX_VERBS}",
        placeholders(1, scope.ids().count())
    ));
    let rows = scope.ids().fold(sqlx::query(select), |query, id| query.bind(id)).fetch_all(db.bulk()).await?;
    let mut verbs = HashMap::new();
    for row in &rows {
        verbs.entry((row.try_get(0)?, row.try_get(1)?)).or_insert(row.try_get(2)?);
    }
    Ok(verbs)
}
