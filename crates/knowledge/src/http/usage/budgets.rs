//! What users, projects and all together may use of models on a day: set by administrators, shown to everyone as far as it is
//! theirs.

use super::{amount, date};
use crate::http::App;
use crate::http::caller::{Admin, Caller};
use crate::usage::{Budget, BudgetKind, Budgets, DAY_MS, Limits, MAX_BUDGETS, Spent, micros};
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::request::JsonBody;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const MAX_TOKENS: i64 = 1 << 53;
const MAX_COST: f64 = 1e9;

/// What may be used of models on a day, in UTC.
#[derive(Serialize, ToSchema)]
pub struct BudgetList {
    #[schema(example = "USD")]
    currency: String,
    /// Today, in UTC.
    #[schema(example = "2026-11-19")]
    date: String,
    budgets: Vec<BudgetView>,
}

#[derive(Serialize, ToSchema)]
pub struct BudgetView {
    #[schema(inline)]
    kind: BudgetKind,
    /// Of a user or a project; null for each that has none of its own, and for all together.
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    id: Option<String>,
    #[serde(flatten)]
    limits: BudgetLimits,
    /// What was used of it today; null if it is of each user or project.
    used: Option<Used>,
}

/// What may be used on a day; null is not limited.
#[derive(Serialize, ToSchema)]
pub struct BudgetLimits {
    /// Input and output together.
    #[schema(example = 50000)]
    tokens: Option<i64>,
    #[schema(example = 1.5)]
    cost: Option<f64>,
}

/// What was used today. The embedded model does not count.
#[derive(Serialize, ToSchema)]
pub struct Used {
    /// Input and output together.
    #[schema(example = 31100)]
    tokens: i64,
    #[schema(example = 0.0132)]
    cost: f64,
}

/// What replaces the budgets.
#[derive(Deserialize, ToSchema)]
pub struct BudgetListBody {
    /// At most 1,000.
    budgets: Vec<BudgetBody>,
}

#[derive(Deserialize, ToSchema)]
pub struct BudgetBody {
    #[schema(inline)]
    kind: BudgetKind,
    /// Of a user or a project; null or absent for each that has none of its own. For all together always null.
    #[schema(value_type = Option<String>, example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    id: Option<AnyText>,
    /// Input and output together; null or absent: not limited.
    #[schema(minimum = 0, example = 50000)]
    tokens: Option<i64>,
    /// Null or absent: not limited.
    #[schema(minimum = 0, example = 1.5)]
    cost: Option<f64>,
}

/// What the caller may use, and has used.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnUsage {
    /// Today, in UTC.
    #[schema(example = "2026-11-19")]
    date: String,
    /// When the next day begins, in milliseconds since 1970.
    #[schema(example = 1795132800000i64)]
    resets_at: i64,
    #[schema(example = "USD")]
    currency: String,
    used: Used,
    limits: BudgetLimits,
}

/// Returns the budgets, and what was used of them today.
#[utoipa::path(get, path = "/api/usage/budgets", responses((status = 200, body = BudgetList)))]
pub async fn get(State(app): State<App>, _: Admin) -> Result<Json<BudgetList>, ApiError> {
    let mut budgets = Vec::new();
    for Budget { kind, id, limits } in app.usage.budgets().await?.0 {
        let counted = if kind == BudgetKind::All { Some("") } else { id.as_deref() };
        let used = match counted {
            Some(id) => Some(app.usage.spent(kind, id).await?.into()),
            None => None,
        };
        budgets.push(BudgetView { kind, id, limits: limits.into(), used });
    }
    let currency = app.usage.prices().await?.currency;
    Ok(Json(BudgetList { currency, date: today(&app), budgets }))
}

/// Replaces the budgets. They count from the next call of a model on, with what was used today already.
#[utoipa::path(put, path = "/api/usage/budgets", request_body = BudgetListBody,
    responses((status = 200, body = BudgetList)))]
pub async fn set(
    state: State<App>,
    admin: Admin,
    JsonBody(body): JsonBody<BudgetListBody>,
) -> Result<Json<BudgetList>, ApiError> {
    state.usage.set_budgets(&budgets(body)?).await?;
    get(state, admin).await
}

/// Returns what the caller has used today, and may use.
#[utoipa::path(get, path = "/api/usage/mine", responses((status = 200, body = OwnUsage)))]
pub async fn mine(State(app): State<App>, Caller(user): Caller) -> Result<Json<OwnUsage>, ApiError> {
    let limits = app.usage.budgets().await?.of_user(&user.id);
    let spent = app.usage.spent(BudgetKind::User, &user.id).await?;
    Ok(Json(OwnUsage {
        date: today(&app),
        resets_at: app.usage.today() + DAY_MS,
        currency: app.usage.prices().await?.currency,
        used: spent.into(),
        limits: limits.into(),
    }))
}

fn today(app: &App) -> String {
    date(app.usage.today() / DAY_MS)
}

fn budgets(body: BudgetListBody) -> Result<Budgets, ApiError> {
    if body.budgets.len() > MAX_BUDGETS {
        return Err(ApiError::invalid(format!("`budgets` has more than {MAX_BUDGETS} entries")));
    }
    let mut budgets: Vec<Budget> = Vec::new();
    for body in body.budgets {
        let budget = budget(body)?;
        if budgets.iter().any(|other| (other.kind, &other.id) == (budget.kind, &budget.id)) {
            return Err(ApiError::invalid("`budgets` has two entries of one `kind` and `id`"));
        }
        budgets.push(budget);
    }
    Ok(Budgets(budgets))
}

fn budget(BudgetBody { kind, id, tokens, cost }: BudgetBody) -> Result<Budget, ApiError> {
    let id = id.map(|id| id.0).filter(|id| !id.is_empty());
    let invalid = |message: String| Err(ApiError::invalid(message));
    match () {
        () if kind == BudgetKind::All && id.is_some() => {
            invalid("`budgets` has an `id` with the `kind` `all`, which is one for all together".to_owned())
        }
        () if tokens.is_none() && cost.is_none() => {
            invalid("`budgets` has an entry with neither `tokens` nor `cost`".to_owned())
        }
        () if tokens.is_some_and(|tokens| !(0..=MAX_TOKENS).contains(&tokens)) => {
            invalid(format!("`budgets` has `tokens` that are not from 0 to {MAX_TOKENS}"))
        }
        () if cost.is_some_and(|cost| !(0.0..=MAX_COST).contains(&cost)) => {
            invalid(format!("`budgets` has a `cost` that is not from 0 to {MAX_COST}"))
        }
        () => Ok(Budget { kind, id, limits: Limits { tokens, cost: cost.map(micros) } }),
    }
}

impl From<Limits> for BudgetLimits {
    fn from(Limits { tokens, cost }: Limits) -> Self {
        Self { tokens, cost: cost.map(amount) }
    }
}

impl From<Spent> for Used {
    fn from(Spent { tokens, cost }: Spent) -> Self {
        Self { tokens, cost: amount(cost) }
    }
}
