//! Lists of parameters in statements.

/// Returns `$4, $5, $6` for three values that begin with the fourth.
pub fn placeholders(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    numbers.join(", ")
}
