//! Budgets: what users, projects and all together may use of models on one day, in UTC. Pure.

use super::MICROS;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub const MAX_BUDGETS: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budgets(pub Vec<Budget>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub kind: BudgetKind,
    /// None for each user or project that has none of its own, and for all together.
    pub id: Option<String>,
    pub limits: Limits,
}

/// Whose use is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BudgetKind {
    User,
    Project,
    /// All users and projects together.
    All,
}

/// What may be used on a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Input and output together.
    pub tokens: Option<i64>,
    /// In millionths of the currency.
    pub cost: Option<i64>,
}

/// What was used of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub tokens: i64,
    /// In millionths of the currency.
    pub cost: i64,
}

/// A budget that a call must have left: whose use it counts, and how much that may be.
#[derive(Debug, PartialEq)]
pub struct BudgetFor<'a> {
    pub kind: BudgetKind,
    /// Empty for all together.
    pub id: &'a str,
    pub limits: Limits,
}

impl Budgets {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what a user may use; one's own budget counts in place of that of each user.
    pub fn of_user(&self, id: &str) -> Limits {
        self.find(BudgetKind::User, id).unwrap_or_default()
    }

    /// Returns the budgets that a call of a user counts to.
    pub fn applying<'a>(
        &self,
        user_id: &'a str,
        project_id: Option<&'a str>,
    ) -> impl Iterator<Item = BudgetFor<'a>> {
        let project = project_id.map(|id| (BudgetKind::Project, id));
        let counted = [Some((BudgetKind::User, user_id)), project, Some((BudgetKind::All, ""))];
        counted
            .into_iter()
            .flatten()
            .filter_map(|(kind, id)| Some(BudgetFor { kind, id, limits: self.find(kind, id)? }))
    }

    fn find(&self, kind: BudgetKind, id: &str) -> Option<Limits> {
        let of =
            |id: Option<&str>| self.0.iter().find(|budget| budget.kind == kind && budget.id.as_deref() == id);
        of(Some(id)).or_else(|| of(None)).map(|budget| budget.limits)
    }
}

impl Limits {
    /// Returns what a caller is told if nothing is left.
    pub fn refusal(&self, kind: BudgetKind, spent: Spent, currency: &str) -> Option<String> {
        let tokens = self.tokens.filter(|limit| spent.tokens >= *limit);
        let cost = self.cost.filter(|limit| spent.cost >= *limit);
        let used = match (tokens, cost) {
            (Some(limit), _) => format!("{} of {} tokens", grouped(spent.tokens), grouped(limit)),
            (None, Some(limit)) => format!("{} of {} {currency}", money(spent.cost), money(limit)),
            (None, None) => return None,
        };
        let whose = match kind {
            BudgetKind::User => "your budget",
            BudgetKind::Project => "the budget of this project",
            BudgetKind::All => "the budget of all users together",
        };
        Some(format!(
            "{whose} for today is used up: {used}; it begins anew at 00:00 UTC, or an administrator can raise it"
        ))
    }
}

/// Writes a number with a comma after each three digits.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes an amount with as many decimals as it has, and two at least.
fn money(micros: i64) -> String {
    let text = format!("{:.6}", micros as f64 / MICROS);
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let (cents, rest) = decimals.split_at(2.min(decimals.len()));
    format!("{whole}.{cents}{}", rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(tokens: Option<i64>, cost: Option<i64>) -> Limits {
        Limits { tokens, cost }
    }

    fn budget(kind: BudgetKind, id: Option<&str>, tokens: i64) -> Budget {
        Budget { kind, id: id.map(str::to_owned), limits: limits(Some(tokens), None) }
    }

    #[test]
    fn ones_own_budget_counts_in_place_of_that_of_each() {
        let budgets = Budgets(vec![
            budget(BudgetKind::User, None, 1),
            budget(BudgetKind::User, Some("ada"), 2),
            budget(BudgetKind::Project, Some("bees"), 3),
            budget(BudgetKind::All, None, 4),
        ]);
        let of = |user, project| -> Vec<i64> {
            budgets.applying(user, project).filter_map(|budget| budget.limits.tokens).collect()
        };
        assert_eq!(of("ada", None), [2, 4]);
        assert_eq!(of("eve", Some("bees")), [1, 3, 4]);
        assert_eq!(of("eve", Some("wasps")), [1, 4]);
    }

    #[test]
    fn a_budget_is_used_up_when_nothing_is_left_and_says_how_much_it_was() {
        let spent = Spent { tokens: 50_000, cost: 1_250_000 };
        let said = |kind, limits: Limits| limits.refusal(kind, spent, "EUR");
        assert_eq!(said(BudgetKind::User, limits(Some(50_001), Some(1_250_001))), None);
        assert_eq!(said(BudgetKind::User, limits(None, None)), None);
        assert_eq!(
            said(BudgetKind::User, limits(Some(50_000), None)).unwrap(),
            "your budget for today is used up: 50,000 of 50,000 tokens; it begins anew at 00:00 UTC, or an administrator \
             can raise it"
        );
        let of_project = said(BudgetKind::Project, limits(None, Some(1_000_000))).unwrap();
        assert!(of_project.starts_with("the budget of this project for today is used up: 1.25 of 1.00 EUR;"));
        assert!(said(BudgetKind::All, limits(Some(0), None)).unwrap().contains("50,000 of 0 tokens"));
    }

    #[test]
    fn amounts_are_written_with_their_decimals() {
        for (micros, text) in [(0, "0.00"), (1, "0.000001"), (1_500_000, "1.50"), (12_345_600, "12.3456")] {
            assert_eq!(money(micros), text);
        }
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
