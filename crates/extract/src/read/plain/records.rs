//! Records: paragraphs of lines such as "Name : Aberdeen", each of which says the same things about another thing. A
//! record becomes a row, so that a value is never without what it belongs to.

use std::collections::BTreeMap;

use crate::read::table::Table;

pub(super) struct Records<'t> {
    /// The first name of the records, if the text has them.
    first: Option<&'t str>,
}

/// Fewer paragraphs that begin alike are chance.
const LEAST: usize = 3;

impl<'t> Records<'t> {
    pub fn of(paragraphs: &[Vec<&'t str>]) -> Self {
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        for pairs in paragraphs.iter().filter_map(|paragraph| pairs(paragraph)) {
            *firsts.entry(pairs[0].0).or_default() += 1;
        }
        let first = firsts.into_iter().max_by_key(|(_, count)| *count);
        Self { first: first.filter(|(_, count)| *count >= LEAST).map(|(name, _)| name) }
    }

    /// Returns a record as a row.
    pub fn record(&self, paragraph: &[&str]) -> Option<String> {
        let first = self.first?;
        let pairs = pairs(paragraph).filter(|pairs| pairs[0].0 == first)?;
        let (names, values): (Vec<String>, Vec<String>) =
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).unzip();
        let mut table = Table::with_header(names);
        table.row(values);
        Some(table.into_text())
    }
}

/// Returns names and values, if every line has both or only a name.
fn pairs<'t>(paragraph: &[&'t str]) -> Option<Vec<(&'t str, &'t str)>> {
    let pair = |line: &&'t str| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim();
        let is_name = (1..=30).contains(&name.len()) && name.split_whitespace().count() <= 3;
        let is_pair = is_name
            && name.starts_with(char::is_alphabetic)
            && (value.is_empty() || value.starts_with([' ', '\t']));
        is_pair.then_some((name, value.trim()))
    };
    let pairs: Option<Vec<_>> = paragraph.iter().map(pair).collect();
    pairs.filter(|pairs| pairs.len() >= 3)
}
