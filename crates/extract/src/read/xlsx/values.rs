//! Values of cells as the sheet shows them: shared strings, dates, percentages.

use std::collections::BTreeMap;

use super::super::package::{Package, Relation};
use super::super::xml::{self, Node};
use crate::{ExtractError, Kind};

pub(super) struct Values {
    strings: Vec<String>,
    /// By the number of a cell's style.
    formats: Vec<Format>,
    counts_from_1904: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Format {
    General,
    Date,
    Time,
    DateAndTime,
    Percent,
}

impl Values {
    pub fn read(
        package: &mut Package,
        relations: &BTreeMap<String, Relation>,
        counts_from_1904: bool,
    ) -> Result<Self, ExtractError> {
        let mut part = |kind: &str| match relations.values().find(|relation| relation.kind == kind) {
            Some(relation) => Ok(package.part(&relation.path)?.unwrap_or_default()),
            None => Ok::<_, ExtractError>(Vec::new()),
        };
        let strings = strings(&part("sharedStrings")?)?;
        let formats = formats(&part("styles")?)?;
        Ok(Self { strings, formats, counts_from_1904 })
    }

    pub fn shown(&self, kind: &str, style: usize, value: String) -> String {
        match kind {
            "s" => value
                .trim()
                .parse()
                .ok()
                .and_then(|at: usize| self.strings.get(at))
                .cloned()
                .unwrap_or_default(),
            "b" => (if value.trim() == "1" { "yes" } else { "no" }).to_owned(),
            "e" => String::new(),
            "" | "n" => self.number(style, value),
            _ => value,
        }
    }

    fn number(&self, style: usize, value: String) -> String {
        let format = self.formats.get(style).copied().unwrap_or(Format::General);
        let Ok(number) = value.trim().parse::<f64>() else { return value };
        let days = number + if self.counts_from_1904 { 1462.0 } else { 0.0 };
        match format {
            Format::General => plain_number(number),
            Format::Percent => format!("{}%", plain_number(number * 100.0)),
            Format::Date => date(days),
            Format::Time => time(days),
            Format::DateAndTime => format!("{} {}", date(days), time(days)),
        }
    }
}

/// Writes a number without the noise of binary fractions: 0.30000000000000004 becomes 0.3.
pub(in crate::read) fn plain_number(number: f64) -> String {
    let rounded = format!("{number:.10}");
    if number.abs() >= 1e15 || (number != 0.0 && number.abs() < 1e-6) {
        return format!("{number}");
    }
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Converts days since 1899-12-31, in a calendar with a 29th of February 1900, to a date.
fn date(days: f64) -> String {
    if !(0.0..3_000_000.0).contains(&days) {
        return plain_number(days);
    }
    let days = days.floor() as i64;
    let since_1970 = if days < 60 { days - 25_568 } else { days - 25_569 };
    let (year, month, day) = civil(since_1970);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(days: f64) -> String {
    let seconds = (days.fract().abs() * 86_400.0).round() as u64 % 86_400;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if seconds == 0 {
        format!("{hours:02}:{minutes:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{seconds:02}")
    }
}

/// Converts days since 1970 to year, month and day, in years that begin in March, so that leap days come last.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

fn strings(xml: &[u8]) -> Result<Vec<String>, ExtractError> {
    let mut strings = Vec::new();
    let (mut current, mut in_text, mut in_reading) = (String::new(), false, false);
    xml::walk(xml, Kind::Xlsx, |node| {
        match node {
            Node::Open(element) => match element.name {
                "t" => in_text = !in_reading,
                "rPh" => in_reading = true,
                _ => {}
            },
            Node::Text(text) if in_text => current.push_str(text),
            Node::Text(_) => {}
            Node::Close("t") => in_text = false,
            Node::Close("rPh") => in_reading = false,
            Node::Close("si") => strings.push(std::mem::take(&mut current)),
            Node::Close(_) => {}
        }
        Ok(())
    })?;
    Ok(strings)
}

fn formats(xml: &[u8]) -> Result<Vec<Format>, ExtractError> {
    let mut custom: BTreeMap<u32, Format> = BTreeMap::new();
    let mut formats = Vec::new();
    let mut in_cell_styles = false;
    xml::walk(xml, Kind::Xlsx, |node| {
        match node {
            Node::Open(element) => {
                let id = element.attribute("numFmtId").and_then(|id| id.parse::<u32>().ok());
                match (element.name, id) {
                    ("cellXfs", _) => in_cell_styles = true,
                    ("numFmt", Some(id)) => {
                        let code = element.attribute("formatCode").unwrap_or_default();
                        custom.insert(id, format_of(&code));
                    }
                    ("xf", id) if in_cell_styles => {
                        let id = id.unwrap_or(0);
                        formats.push(custom.get(&id).copied().unwrap_or_else(|| built_in(id)));
                    }
                    _ => {}
                }
            }
            Node::Close("cellXfs") => in_cell_styles = false,
            _ => {}
        }
        Ok(())
    })?;
    Ok(formats)
}

fn built_in(id: u32) -> Format {
    match id {
        9 | 10 => Format::Percent,
        14..=17 | 27..=31 | 36 | 50..=58 => Format::Date,
        18..=21 | 32..=35 | 45..=47 => Format::Time,
        22 => Format::DateAndTime,
        _ => Format::General,
    }
}

/// Returns what a format code shows, by its letters outside quotes and brackets.
fn format_of(code: &str) -> Format {
    let mut letters = String::new();
    let mut until = None;
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match (c, until) {
            (c, Some(end)) if c == end => until = None,
            (_, Some(_)) => {}
            ('"', None) => until = Some('"'),
            ('[', None) => until = Some(']'),
            ('\\' | '_' | '*', None) => drop(chars.next()),
            (';', None) => break,
            (c, None) => letters.push(c.to_ascii_lowercase()),
        }
    }
    let has = |wanted: [char; 2]| letters.contains(wanted);
    match (has(['y', 'd']), has(['h', 's']), letters.contains('%')) {
        (true, true, _) => Format::DateAndTime,
        (true, false, _) => Format::Date,
        (false, true, _) => Format::Time,
        (false, false, true) => Format::Percent,
        _ => Format::General,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_written_out() {
        assert_eq!(
            [1.0, 59.0, 61.0, 45_292.0, 36_526.0].map(date),
            ["1900-01-01", "1900-02-28", "1900-03-01", "2024-01-01", "2000-01-01"]
        );
        assert_eq!([0.5, 45_292.75, 0.000_011_574].map(time), ["12:00", "18:00", "00:00:01"]);
    }

    #[test]
    fn numbers_lose_the_noise_of_binary_fractions() {
        assert_eq!(
            [0.1 + 0.2, 3000.0, -1.5, 1e20, 2e-9].map(plain_number),
            ["0.3", "3000", "-1.5", "100000000000000000000", "0.000000002"]
        );
    }

    #[test]
    fn format_codes_tell_what_they_show() {
        let codes =
            ["0.00", "dd/mm/yyyy", "[h]:mm:ss", "yyyy-mm-dd hh:mm", "0%", "\"day\" 0", "#,##0 [$EUR]"];
        let formats = [
            Format::General,
            Format::Date,
            Format::Time,
            Format::DateAndTime,
            Format::Percent,
            Format::General,
            Format::General,
        ];
        assert_eq!(codes.map(format_of), formats);
    }
}
