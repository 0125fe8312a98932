//! The prices of models, and which of them counts. Pure.

use super::MICROS;
use serde::{Deserialize, Serialize};

pub const MAX_PRICES: usize = 1_000;
const TOKENS: i128 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    pub currency: String,
    pub prices: Vec<Price>,
}

/// The price of some models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The id of a connection, or the name of a provider of the settings; empty for any.
    pub connection: String,
    /// The name of a model; with a `*` at the end, of all that begin so.
    pub model: String,
    /// For a million tokens, in millionths of the currency.
    pub input: i64,
    pub output: i64,
}

impl Default for Prices {
    fn default() -> Self {
        Self { currency: "USD".to_owned(), prices: Vec::new() }
    }
}

impl Prices {
    /// Returns what a call costs, in millionths of the currency: nothing, if no price is for its model.
    pub fn cost(&self, connection: &str, model: &str, input_tokens: i64, output_tokens: i64) -> i64 {
        let Some(price) = self.find(connection, model) else { return 0 };
        let of = |tokens: i64, price: i64| i128::from(tokens) * i128::from(price);
        let cost = (of(input_tokens, price.input) + of(output_tokens, price.output) + TOKENS / 2) / TOKENS;
        i64::try_from(cost).unwrap_or(i64::MAX)
    }

    /// Returns the most specific price: of the connection before any, of the whole name before a beginning, of the longer
    /// beginning.
    fn find(&self, connection: &str, model: &str) -> Option<&Price> {
        let fitting = self.prices.iter().filter(|price| price.is_for(connection, model));
        fitting.max_by_key(|price| {
            (!price.connection.is_empty(), !price.model.ends_with('*'), price.model.len())
        })
    }
}

impl Price {
    fn is_for(&self, connection: &str, model: &str) -> bool {
        let is_model = match self.model.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model == self.model,
        };
        is_model && (self.connection.is_empty() || self.connection == connection)
    }
}

/// Returns an amount in millionths of the currency.
pub fn micros(amount: f64) -> i64 {
    (amount * MICROS).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(connection: &str, model: &str, input: f64, output: f64) -> Price {
        let [input, output] = [input, output].map(micros);
        Price { connection: connection.to_owned(), model: model.to_owned(), input, output }
    }

    #[test]
    fn the_most_specific_price_counts_in_any_order() {
        let mut prices = vec![
            price("", "*", 1.0, 0.0),
            price("", "gpt-*", 2.0, 0.0),
            price("", "gpt-5*", 3.0, 0.0),
            price("", "gpt-5", 4.0, 0.0),
            price("own", "*", 5.0, 0.0),
            price("own", "gpt-5*", 6.0, 0.0),
            price("own", "gpt-5", 7.0, 0.0),
        ];
        for _ in 0..2 {
            let all = Prices { prices: prices.clone(), ..Prices::default() };
            for (connection, model, expected) in [
                ("vendor-a", "llama", 1),
                ("vendor-a", "gpt-4", 2),
                ("vendor-a", "gpt-5-mini", 3),
                ("vendor-a", "gpt-5", 4),
                ("own", "llama", 5),
                ("own", "gpt-4", 5),
                ("own", "gpt-5-mini", 6),
                ("own", "gpt-5", 7),
                ("own", "GPT-5", 5),
            ] {
                assert_eq!(
                    all.cost(connection, model, 1_000_000, 0),
                    expected * 1_000_000,
                    "{connection} {model}"
                );
            }
            prices.reverse();
        }
    }

    #[test]
    fn a_cost_is_rounded_to_a_millionth_and_unknown_models_cost_nothing() {
        let prices = Prices { prices: vec![price("vendor-a", "small", 0.15, 0.6)], ..Prices::default() };
        assert_eq!(prices.cost("vendor-a", "small", 11, 7), 6);
        assert_eq!(prices.cost("vendor-a", "small", 1_000_000, 1_000_000), 750_000);
        assert_eq!(prices.cost("vendor-a", "smaller", 1_000_000, 0), 0);
        assert_eq!(prices.cost("vendor-b", "small", 1_000_000, 0), 0);
        let dear = Prices { prices: vec![price("", "*", 1e6, 1e6)], ..Prices::default() };
        assert_eq!(dear.cost("", "", i64::MAX, i64::MAX), i64::MAX);
    }
}
