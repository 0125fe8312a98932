//! Calls of models, their sums, and the settings of prices and budgets.

use crate::usage::{BudgetKind, CallFilter, CallRow, DAY_MS, Group, GroupBy, Spent, Sums};
use llm::EDGE_AI;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str = "id, ended_at, user_id, purpose, project_id, space_id, connection, model, input_tokens, output_tokens, \
                       milliseconds, cost";
/// What users are called. Those who were removed have no name.
const USER_NAME: &str = "COALESCE(NULLIF(users.name, ''), NULLIF(users.username, ''))";

/// Stores calls. Those that are there already stay as they are.
pub async fn insert(tx: &mut Tx, rows: &[CallRow]) -> Result<(), StoreError> {
    let insert = format!(
        "INSERT INTO model_calls ({COLUMNS}) VALUES ({}) ON CONFLICT (id) DO NOTHING",
        placeholders(1, 12)
    );
    for row in rows {
        let query = sqlx::query(AssertSqlSafe(insert.clone())).bind(&row.id).bind(row.ended_at);
        let query = query.bind(&row.user_id).bind(&row.purpose).bind(&row.project_id).bind(&row.space_id);
        let query = query.bind(&row.connection).bind(&row.model).bind(row.input_tokens);
        let query = query.bind(row.output_tokens).bind(row.milliseconds).bind(row.cost);
        query.execute(tx.conn()).await?;
    }
    Ok(())
}

pub async fn set_project_name(tx: &mut Tx, id: &str, name: &str) -> Result<(), StoreError> {
    let upsert =
        "INSERT INTO called_projects (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = $2";
    sqlx::query(upsert).bind(id).bind(name).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the sums of calls: days in their order, of others the dearest first, then those with the most tokens.
pub async fn groups(db: &Db, filter: &CallFilter, by: GroupBy) -> Result<Vec<Group>, StoreError> {
    let day = format!("CAST(ended_at / {DAY_MS} AS TEXT)");
    let (key, name, table) = match by {
        GroupBy::User => ("user_id", USER_NAME, "users"),
        GroupBy::Space => ("space_id", "spaces.name", "spaces"),
        GroupBy::Project => ("project_id", "called_projects.name", "called_projects"),
        GroupBy::Connection => ("connection", "connections.name", "connections"),
        GroupBy::Model => ("model", "", ""),
        GroupBy::Purpose => ("purpose", "", ""),
        GroupBy::Day => (day.as_str(), "", ""),
    };
    let (name, join) = match table {
        "" => ("sums.key".to_owned(), String::new()),
        table => {
            (format!("COALESCE({name}, sums.key)"), format!("LEFT JOIN {table} ON {table}.id = sums.key"))
        }
    };
    let order = match by {
        GroupBy::Day => "first",
        _ => "cost DESC, input_tokens + output_tokens DESC, key",
    };
    let condition = condition(filter);
    let select = format!(
        "SELECT key, {name} AS name, calls, input_tokens, output_tokens, milliseconds, cost FROM (
            SELECT {key} AS key, MIN(ended_at) AS first, COUNT(*) AS calls,
                CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
                CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
                CAST(SUM(milliseconds) AS BIGINT) AS milliseconds, CAST(SUM(cost) AS BIGINT) AS cost
            FROM model_calls WHERE {condition} GROUP BY {key}
        ) AS sums {join} ORDER BY {order}"
    );
    let query = bind(sqlx::query(AssertSqlSafe(select)), filter);
    query.fetch_all(db.bulk()).await?.iter().map(group_of).collect()
}

/// Returns calls with names in place of ids, where there are names, the oldest first.
pub async fn page(
    db: &Db,
    filter: &CallFilter,
    after: Option<(i64, &str)>,
    limit: i64,
) -> Result<Vec<CallRow>, StoreError> {
    let (after_time, after_id) = after.unwrap_or((filter.from, ""));
    // Without this bound, SQLite would read again all that came before.
    let filter = &CallFilter { from: after_time, ..filter.clone() };
    let condition = condition(filter);
    let next = 3 + others(filter).count();
    let [time, id, most] = [next, next + 1, next + 2];
    // The page first, then its names: a join of all calls would come before the limit.
    let select = format!(
        "SELECT calls.id, ended_at, COALESCE({USER_NAME}, user_id) AS user_id, purpose,
            COALESCE(called_projects.name, project_id) AS project_id, COALESCE(spaces.name, space_id) AS space_id,
            COALESCE(connections.name, connection) AS connection, model, input_tokens, output_tokens, milliseconds, cost
        FROM (
            SELECT {COLUMNS} FROM model_calls WHERE {condition} AND (ended_at, id) > (${time}, ${id})
            ORDER BY ended_at, id LIMIT ${most}
        ) AS calls
        LEFT JOIN users ON users.id = calls.user_id
        LEFT JOIN called_projects ON called_projects.id = calls.project_id
        LEFT JOIN spaces ON spaces.id = calls.space_id
        LEFT JOIN connections ON connections.id = calls.connection
        ORDER BY ended_at, calls.id"
    );
    let query = bind(sqlx::query(AssertSqlSafe(select)), filter).bind(after_time).bind(after_id).bind(limit);
    query.fetch_all(db.bulk()).await?.iter().map(call_of).collect()
}

/// Returns what was used since a time of what budgets count: all but the embedded model.
pub async fn spent(db: &Db, kind: BudgetKind, id: &str, since: i64) -> Result<Spent, StoreError> {
    let condition = match kind {
        BudgetKind::User => "user_id = $3",
        BudgetKind::Project => "project_id = $3",
        BudgetKind::All => "$3 = ''",
    };
    let select = AssertSqlSafe(format!(
        "SELECT CAST(COALESCE(SUM(input_tokens + output_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(cost), 0) AS BIGINT)
        FROM model_calls WHERE ended_at >= $1 AND connection <> $2 AND {condition}"
    ));
    let row = sqlx::query(select).bind(since).bind(EDGE_AI).bind(id).fetch_one(db.read()).await?;
    Ok(Spent { tokens: row.try_get(0)?, cost: row.try_get(1)? })
}

pub async fn settings(db: &Db, kind: &str) -> Result<Option<String>, StoreError> {
    let select = sqlx::query("SELECT settings FROM usage_settings WHERE kind = $1").bind(kind);
    Ok(select.fetch_optional(db.read()).await?.map(|row| row.try_get(0)).transpose()?)
}

pub async fn set_settings(tx: &mut Tx, kind: &str, settings: &str) -> Result<(), StoreError> {
    let upsert = "INSERT INTO usage_settings (kind, settings) VALUES ($1, $2)
        ON CONFLICT (kind) DO UPDATE SET settings = $2";
    sqlx::query(upsert).bind(kind).bind(settings).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the condition of a filter, with placeholders from the first on for [`bind`].
fn condition(filter: &CallFilter) -> String {
    let columns = others(filter).zip(3..).map(|((column, _), number)| format!(" AND {column} = ${number}"));
    format!("ended_at >= $1 AND ended_at < $2{}", columns.collect::<String>())
}

/// Returns the columns that a filter compares beside the time, and their values.
fn others(filter: &CallFilter) -> impl Iterator<Item = (&'static str, &String)> {
    let all =
        [("user_id", &filter.user_id), ("project_id", &filter.project_id), ("space_id", &filter.space_id)];
    all.into_iter().filter_map(|(column, value)| Some((column, value.as_ref()?)))
}

fn bind<'q>(query: Query<'q, Any, AnyArguments>, filter: &'q CallFilter) -> Query<'q, Any, AnyArguments> {
    let query = query.bind(filter.from).bind(filter.to);
    others(filter).fold(query, |query, (_, value)| query.bind(value))
}

fn group_of(row: &AnyRow) -> Result<Group, StoreError> {
    let sums = Sums {
        calls: row.try_get("calls")?,
        input_tokens: row.try_get("input_tokens")?,
        output_tokens: row.try_get("output_tokens")?,
        milliseconds: row.try_get("milliseconds")?,
        cost: row.try_get("cost")?,
    };
    Ok(Group { key: row.try_get("key")?, name: row.try_get("name")?, sums })
}

fn call_of(row: &AnyRow) -> Result<CallRow, StoreError> {
    Ok(CallRow {
        id: row.try_get("id")?,
        ended_at: row.try_get("ended_at")?,
        user_id: row.try_get("user_id")?,
        purpose: row.try_get("purpose")?,
        project_id: row.try_get("project_id")?,
        space_id: row.try_get("space_id")?,
        connection: row.try_get("connection")?,
        model: row.try_get("model")?,
        input_tokens: row.try_get("input_tokens")?,
        output_tokens: row.try_get("output_tokens")?,
        milliseconds: row.try_get("milliseconds")?,
        cost: row.try_get("cost")?,
    })
}
