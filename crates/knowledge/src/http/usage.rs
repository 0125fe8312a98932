//! What was used of models: sums by user, space, project, day, connection, model or purpose. `export` has each call as CSV,
//! `prices` what calls cost, `budgets` what may be used on a day.

pub mod budgets;
pub mod export;
pub mod prices;

use super::App;
use super::caller::Caller;
use crate::records::User;
use crate::usage::{CallFilter, DAY_MS, Group, GroupBy, MICROS, Sums};
use axum::Json;
use axum::extract::State;
use base::iso8601;
use kit::error::ApiError;
use kit::fields::Whole;
use kit::request::Query;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

const DEFAULT_DAYS: i64 = 30;
/// Rows of an answer. `totals` has all.
const MAX_ROWS: usize = 10_000;

/// A time, in milliseconds since 1970, up to the year 9999.
type Moment = Whole<0, 253_402_300_799_999>;

/// Which calls of models are meant. Who is not an administrator sees their own.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct CallsQuery {
    /// Those that ended at this time or later, in milliseconds since 1970; 30 days before `to` if absent.
    #[param(inline)]
    from: Option<Moment>,
    /// Those that ended before this time, in milliseconds since 1970; now if absent.
    #[param(inline)]
    to: Option<Moment>,
    /// Of this user alone.
    user_id: Option<String>,
    /// Of this project alone.
    project_id: Option<String>,
    /// Of this space alone.
    space_id: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ByQuery {
    /// What the calls of a row have in common; the day if absent. Only an administrator sees those by `user`, `space` and
    /// `project`.
    #[param(inline)]
    by: Option<UsageBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsageBy {
    User,
    Space,
    Project,
    /// In UTC.
    Day,
    Connection,
    Model,
    /// What it was asked for: `chat`, `agents`, `graph`, `goals`, `test`, or `api` for programs that speak OpenAI's protocol or
    /// MCP.
    Purpose,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSums {
    #[schema(example = 12)]
    calls: i64,
    #[schema(example = 31100)]
    input_tokens: i64,
    #[schema(example = 1400)]
    output_tokens: i64,
    /// How long the models have worked.
    #[schema(example = 41.5)]
    seconds: f64,
    /// By the prices of the moment of each call.
    #[schema(example = 0.0132)]
    cost: f64,
}

#[derive(Serialize, ToSchema)]
pub struct UsageRow {
    /// An id, a day, or a name; empty for calls that belong to no space or project. `guests` are the guests of projects, `local`
    /// programs on the server's own machine.
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    key: String,
    /// The same as `key` if it has no name, or has none any more.
    #[schema(example = "Ada")]
    name: String,
    #[serde(flatten)]
    sums: UsageSums,
}

/// What was used.
#[derive(Serialize, ToSchema)]
pub struct UsageView {
    from: i64,
    to: i64,
    #[schema(inline)]
    by: UsageBy,
    #[schema(example = "USD")]
    currency: String,
    totals: UsageSums,
    /// Days in their order; of others the dearest first, then those with the most tokens. At most 10,000.
    rows: Vec<UsageRow>,
}

/// Sums up the use of models.
#[utoipa::path(get, path = "/api/usage", params(CallsQuery, ByQuery), responses((status = 200, body = UsageView)))]
pub async fn sums(
    State(app): State<App>,
    Caller(user): Caller,
    Query(calls): Query<CallsQuery>,
    Query(ByQuery { by }): Query<ByQuery>,
) -> Result<Json<UsageView>, ApiError> {
    let by = by.unwrap_or(UsageBy::Day);
    if !user.is_admin && matches!(by, UsageBy::User | UsageBy::Space | UsageBy::Project) {
        return Err(ApiError::forbidden(
            "only an administrator sees this: `by` may be day, connection, model or purpose",
        ));
    }
    let filter = calls.filter(&app, &user)?;
    let groups = app.usage.groups(&filter, by.into()).await?;
    let totals = groups.iter().fold(Sums::default(), |sums, group| sums.plus(&group.sums));
    let rows = groups.into_iter().take(MAX_ROWS).map(|group| row(by, group)).collect();
    let (from, to, currency) = (filter.from, filter.to, app.usage.prices().await?.currency);
    Ok(Json(UsageView { from, to, by, currency, totals: totals.into(), rows }))
}

fn row(by: UsageBy, Group { key, name, sums }: Group) -> UsageRow {
    let sums = sums.into();
    match by {
        UsageBy::Day => {
            let day = date(key.parse().unwrap_or_default());
            UsageRow { key: day.clone(), name: day, sums }
        }
        _ => UsageRow { key, name, sums },
    }
}

/// Writes a day, counted from 1970, as a date.
fn date(day: i64) -> String {
    iso8601(day.saturating_mul(DAY_MS)).chars().take(10).collect()
}

/// Returns an amount of money, kept in millionths, as it is shown.
fn amount(micros: i64) -> f64 {
    micros as f64 / MICROS
}

impl CallsQuery {
    /// Checks that the caller may see these calls. Who is not an administrator sees only their own.
    fn filter(self, app: &App, caller: &User) -> Result<CallFilter, ApiError> {
        let Self { from, to, user_id, project_id, space_id } = self;
        let user_id = match user_id {
            Some(id) if id != caller.id && !caller.is_admin => {
                return Err(ApiError::forbidden(
                    "`userId` is not yours: only an administrator may name another user",
                ));
            }
            None if !caller.is_admin => Some(caller.id.clone()),
            named => named,
        };
        // Calls of this millisecond, too.
        let to = to.map_or(app.clock.now_ms() + 1, |to| to.0.cast_signed());
        let from = from.map_or(to.saturating_sub(DEFAULT_DAYS * DAY_MS).max(0), |from| from.0.cast_signed());
        match from < to {
            true => Ok(CallFilter { from, to, user_id, project_id, space_id }),
            false => Err(ApiError::invalid("`from` is not before `to`")),
        }
    }
}

impl From<UsageBy> for GroupBy {
    fn from(by: UsageBy) -> Self {
        match by {
            UsageBy::User => Self::User,
            UsageBy::Space => Self::Space,
            UsageBy::Project => Self::Project,
            UsageBy::Day => Self::Day,
            UsageBy::Connection => Self::Connection,
            UsageBy::Model => Self::Model,
            UsageBy::Purpose => Self::Purpose,
        }
    }
}

impl From<Sums> for UsageSums {
    fn from(sums: Sums) -> Self {
        Self {
            calls: sums.calls,
            input_tokens: sums.input_tokens,
            output_tokens: sums.output_tokens,
            seconds: sums.milliseconds as f64 / 1000.0,
            cost: amount(sums.cost),
        }
    }
}
