//! How a model says that the things in documents are connected.

use crate::records::Scope;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, placeholders};

/// From one node of the graph, by a verb, to another: by their ids.
pub type Relation = (String, String, String);

/// Puts what a model says of a document in the place of what was said before.
pub async fn replace(
    tx: &mut Tx,
    document_id: &str,
    relations: &HashMap<Relation, i64>,
) -> Result<(), StoreError> {
    let delete = sqlx::query("DELETE FROM relations WHERE document_id = $1").bind(document_id);
    delete.execute(tx.conn()).await?;
    for ((source, verb, target), count) in relations {
        let insert =
            "INSERT INTO relations (document_id, source, verb, target, count) VALUES ($1, $2, $3, $4, $5)";
        let query = sqlx::query(insert).bind(document_id).bind(source).bind(verb).bind(target);
        query.bind(count).execute(tx.conn()).await?;
    }
    Ok(())
}

/// Returns the verb that is said most often from one node to another, in the documents of a scope.
pub async fn verbs(db: &Db, scope: &Scope) -> Result<HashMap<(String, String), String>, StoreError> {
    // The last row of two nodes counts, and is the one that is said most often.
    let select = AssertSqlSafe(format!(
        "SELECT source, target, verb FROM relations JOIN documents ON documents.id = relations.document_id
         WHERE documents.user_id IN ({}) GROUP BY source, target, verb ORDER BY SUM(count), verb DESC",
        placeholders(1, scope.ids().count())
    ));
    let rows = scope.ids().fold(sqlx::query(select), |query, id| query.bind(id)).fetch_all(db.read()).await?;
    let verb = |row: &sqlx::any::AnyRow| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?));
    rows.iter().map(verb).collect()
}
