//! The prices of models, which administrators set.

use super::amount;
use crate::http::App;
use crate::http::caller::Admin;
use crate::usage::{MAX_PRICES, Price, Prices, micros};
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::request::JsonBody;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// For a million tokens.
const MAX_PRICE: f64 = 1_000_000.0;

/// The prices of models, for a million tokens each.
#[derive(Serialize, ToSchema)]
pub struct PriceTable {
    #[schema(example = "USD")]
    currency: String,
    prices: Vec<ModelPrice>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// The id of a connection, or the name of a provider of the settings; empty for any.
    #[schema(example = "vendor-a")]
    connection: String,
    /// The name of a model; with a `*` at the end, of all that begin so.
    #[schema(example = "a-large-model*")]
    model: String,
    #[schema(example = 0.15)]
    input_per_million: f64,
    #[schema(example = 0.6)]
    output_per_million: f64,
}

/// What replaces the prices of models.
#[derive(Deserialize, ToSchema)]
pub struct PriceTableBody {
    /// Three capital letters.
    #[schema(value_type = String, example = "USD")]
    currency: AnyText,
    /// At most 1,000. The most specific counts: one of the connection before one for any, one of the whole name before one of its
    /// beginning, one of the longer beginning.
    prices: Vec<ModelPriceBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPriceBody {
    /// The id of a connection, or the name of a provider of the settings; empty or absent for any.
    #[serde(default)]
    #[schema(value_type = String, required = false, example = "vendor-a")]
    connection: AnyText,
    /// The name of a model; with a `*` at the end, of all that begin so.
    #[schema(value_type = String, max_length = 200, example = "a-large-model*")]
    model: AnyText,
    /// At most six decimals count.
    #[schema(minimum = 0, maximum = 1_000_000, example = 0.15)]
    input_per_million: f64,
    #[schema(minimum = 0, maximum = 1_000_000, example = 0.6)]
    output_per_million: f64,
}

/// Returns the prices of models.
#[utoipa::path(get, path = "/api/usage/prices", responses((status = 200, body = PriceTable)))]
pub async fn get(State(app): State<App>, _: Admin) -> Result<Json<PriceTable>, ApiError> {
    Ok(Json(app.usage.prices().await?.into()))
}

/// Replaces the prices of models. They count for calls that end from now on: what earlier ones have cost stays.
#[utoipa::path(put, path = "/api/usage/prices", request_body = PriceTableBody,
    responses((status = 200, body = PriceTable)))]
pub async fn set(
    State(app): State<App>,
    _: Admin,
    JsonBody(body): JsonBody<PriceTableBody>,
) -> Result<Json<PriceTable>, ApiError> {
    let prices = prices(body)?;
    app.usage.set_prices(&prices).await?;
    Ok(Json(prices.into()))
}

fn prices(body: PriceTableBody) -> Result<Prices, ApiError> {
    let currency = body.currency.0;
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(ApiError::invalid("`currency` is not three capital letters, such as USD"));
    }
    if body.prices.len() > MAX_PRICES {
        return Err(ApiError::invalid(format!("`prices` has more than {MAX_PRICES} entries")));
    }
    let mut prices: Vec<Price> = Vec::new();
    for price in body.prices {
        let price = self::price(price)?;
        if prices.iter().any(|other| (&other.connection, &other.model) == (&price.connection, &price.model)) {
            let Price { connection, model, .. } = price;
            return Err(ApiError::invalid(format!(
                "`prices` has two entries of `connection` `{connection}` and `model` `{model}`"
            )));
        }
        prices.push(price);
    }
    Ok(Prices { currency, prices })
}

fn price(body: ModelPriceBody) -> Result<Price, ApiError> {
    let (connection, model) = (body.connection.0, body.model.0);
    if model.is_empty() || !llm::is_model_name(&model) || model.trim_end_matches('*').contains('*') {
        let message = "`prices` has a `model` that is neither the name of a model nor a beginning with `*`";
        return Err(ApiError::invalid(message));
    }
    if !llm::is_model_name(&connection) {
        return Err(ApiError::invalid("`prices` has a `connection` that is neither an id nor a provider"));
    }
    let is_price = |price: f64| (0.0..=MAX_PRICE).contains(&price);
    if !is_price(body.input_per_million) || !is_price(body.output_per_million) {
        let message = format!("`prices` has a price that is not from 0 to {MAX_PRICE}");
        return Err(ApiError::invalid(message));
    }
    Ok(Price {
        // `openai` is another name of `vendor-a`.
        connection: llm::canonical(&connection).map_or(connection.clone(), str::to_owned),
        model,
        input: micros(body.input_per_million),
        output: micros(body.output_per_million),
    })
}

impl From<Prices> for PriceTable {
    fn from(Prices { currency, prices }: Prices) -> Self {
        let view = |price: Price| ModelPrice {
            connection: price.connection,
            model: price.model,
            input_per_million: amount(price.input),
            output_per_million: amount(price.output),
        };
        Self { currency, prices: prices.into_iter().map(view).collect() }
    }
}
