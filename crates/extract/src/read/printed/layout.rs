//! Finds the reading order: characters form segments of lines, segments form columns, and columns are read top to
//! bottom.

mod direction;
mod segment;

use super::glyph::Glyph;
use direction::{in_reading_order, runs_left};
use segment::Segment;

/// A line of text in its column.
#[derive(Debug, Clone)]
pub(in crate::read) struct Line {
    pub text: String,
    pub x: f64,
    pub right: f64,
    pub y: f64,
    /// The height of its last line, if it is a row whose cells have several.
    pub bottom: f64,
    /// The size of most of its characters.
    pub size: f64,
    /// The left and right edge of its column.
    pub column: (f64, f64),
    /// Whether it is a row of a table: words with wide gaps between them.
    pub is_row: bool,
    /// The words between wide gaps, in reading order.
    pub cells: Vec<Cell>,
    /// The number of the ruled table on its page that it belongs to, or 0.
    pub table: usize,
}

/// Words without a wide gap between them.
#[derive(Debug, Clone)]
pub(in crate::read) struct Cell {
    pub text: String,
    pub x: f64,
    pub right: f64,
}

/// Separates the cells of a row.
pub(in crate::read) const CELL_GAP: &str = " | ";

/// Returns the lines of a page in reading order.
pub(in crate::read) fn lines(glyphs: &[Glyph]) -> Vec<Line> {
    let mut ordered = Vec::new();
    order(segments(runs(glyphs)), 0, &mut ordered);
    ordered
}

/// Does the same for runs of words that are put together already.
pub(in crate::read) fn lines_of_runs(runs: &[Glyph]) -> Vec<Line> {
    let mut ordered = Vec::new();
    order(segments(runs.iter().map(Segment::new).collect()), 0, &mut ordered);
    ordered
}

/// In units of the font size: a gap between words, and one wider than any between words.
const WORD_GAP: f64 = 0.15;
const WIDE_GAP: f64 = 1.3;
/// Runs that are not consecutive in the file must be closer to be joined, since they may belong to two columns.
const JOIN_GAP: f64 = 0.7;

/// Joins characters in the order of the file, which is the reading order within a line.
fn runs(glyphs: &[Glyph]) -> Vec<Segment> {
    let mut runs: Vec<Segment> = Vec::new();
    let mut after_space = false;
    for glyph in glyphs {
        if glyph.text.trim().is_empty() {
            after_space = true;
            continue;
        }
        let is_added = runs.last_mut().is_some_and(|run| run.add(glyph, after_space));
        if !is_added {
            runs.push(Segment::new(glyph));
        }
        after_space = false;
    }
    runs.iter_mut().filter(|run| !run.is_leftward).for_each(|run| run.text = in_reading_order(&run.text));
    runs
}

/// Joins runs on one baseline if there is no gap or that of a word, from top to bottom.
fn segments(runs: Vec<Segment>) -> Vec<Segment> {
    let mut joined: Vec<Segment> = Vec::new();
    for row in by_baseline(runs) {
        let leftward = runs_left(row.iter().map(|run| run.text.as_str()));
        let start = joined.len();
        for run in row {
            match joined[start..].last_mut() {
                Some(last) if last.gap_to(&run, leftward) < JOIN_GAP * last.size.max(run.size) => {
                    last.join(run, leftward)
                }
                _ => joined.push(run),
            }
        }
    }
    joined
}

fn same_baseline(one: &Segment, other: &Segment) -> bool {
    (one.y - other.y).abs() <= 0.3 * one.size.min(other.size)
}

/// Groups segments by baseline, from top to bottom, and sorts each group in the direction of its writing.
fn by_baseline(mut segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    segments.sort_by(|one, other| other.y.total_cmp(&one.y));
    let mut rows: Vec<Vec<Segment>> = Vec::new();
    for segment in segments {
        match rows.last_mut() {
            Some(row) if row.first().is_some_and(|first| same_baseline(first, &segment)) => row.push(segment),
            _ => rows.push(vec![segment]),
        }
    }
    for row in &mut rows {
        row.sort_by(|one, other| one.x.total_cmp(&other.x));
        if runs_left(row.iter().map(|segment| segment.text.as_str())) {
            row.reverse();
        }
    }
    rows
}

/// Puts segments, given from top to bottom, in reading order. A segment that crosses the gap between two columns
/// separates what is above it from what is below; of the rest, the left column comes before the right one.
fn order(segments: Vec<Segment>, depth: usize, ordered: &mut Vec<Line>) {
    if depth > DEEPEST {
        return rows(segments, ordered);
    }
    let Some(gap) = column_gap(&segments) else { return order_bands(segments, depth, ordered) };
    let (mut left, mut right, mut across) = (Vec::new(), Vec::new(), Vec::new());
    for segment in segments {
        let crosses = segment.x < gap && segment.right > gap;
        if !crosses {
            rows(std::mem::take(&mut across), ordered);
            let side = if segment.right <= gap { &mut left } else { &mut right };
            side.push(segment);
            continue;
        }
        order(std::mem::take(&mut left), depth + 1, ordered);
        order(std::mem::take(&mut right), depth + 1, ordered);
        across.push(segment);
    }
    rows(across, ordered);
    order(left, depth + 1, ordered);
    order(right, depth + 1, ordered);
}

/// Splits a page at its widest vertical gap, since only a part of its height may have columns.
fn order_bands(mut segments: Vec<Segment>, depth: usize, ordered: &mut Vec<Line>) {
    let open = |at: usize| segments[at - 1].y - segments[at].y - 1.5 * segments[at - 1].size;
    let widest = (1..segments.len()).max_by(|one, other| open(*one).total_cmp(&open(*other)));
    match widest.filter(|at| segments.len() >= LEAST_FOR_COLUMNS && open(*at) > 0.0) {
        Some(at) => {
            let below = segments.split_off(at);
            order(segments, depth + 1, ordered);
            order(below, depth + 1, ordered);
        }
        None => rows(segments, ordered),
    }
}

fn rows(segments: Vec<Segment>, ordered: &mut Vec<Line>) {
    let left = segments.iter().map(|segment| segment.x).fold(f64::MAX, f64::min);
    let right = segments.iter().map(|segment| segment.right).fold(f64::MIN, f64::max);
    for row in by_baseline(segments) {
        let is_row = row.len() > 1;
        let cells = row.iter().map(|cell| Cell { text: cell.text.clone(), x: cell.x, right: cell.right });
        let cells = cells.collect();
        let mut row = row.into_iter();
        let Some(mut line) = row.next() else { continue };
        for segment in row {
            line.text.push_str(CELL_GAP);
            line.text.push_str(&segment.text);
            line.x = line.x.min(segment.x);
            line.right = line.right.max(segment.right);
            line.size = line.size.max(segment.size);
            line.count_sizes(&segment);
        }
        let size = line.usual_size();
        let Segment { text, x, right: end, y, .. } = line;
        ordered.push(Line {
            text,
            x,
            right: end,
            y,
            bottom: y,
            size,
            column: (left, right),
            is_row,
            cells,
            table: 0,
        });
    }
}

const BUCKETS: usize = 256;
const LEAST_FOR_COLUMNS: usize = 8;
/// How often a page is split into columns and bands.
const DEEPEST: usize = 12;

/// Returns the middle of the gap between two columns of running text. Columns of a table do not count: their cells
/// are short.
fn column_gap(segments: &[Segment]) -> Option<f64> {
    let left = segments.iter().map(|segment| segment.x).fold(f64::MAX, f64::min);
    let right = segments.iter().map(|segment| segment.right).fold(f64::MIN, f64::max);
    let width = right - left;
    if segments.len() < LEAST_FOR_COLUMNS || width < 100.0 {
        return None;
    }
    let bucket = |x: f64| (((x - left) / width * BUCKETS as f64) as usize).min(BUCKETS - 1);
    let mut changes = [0_i64; BUCKETS + 1];
    for segment in segments {
        changes[bucket(segment.x)] += 1;
        changes[bucket(segment.right) + 1] -= 1;
    }
    let mut crossing = 0;
    let crossings = changes[..BUCKETS].iter().map(|change| {
        crossing += change;
        crossing
    });
    let crossings: Vec<i64> = crossings.collect();
    let few = segments.len() as i64 / 5;
    let inner = BUCKETS / 5..BUCKETS * 4 / 5;
    let lowest = crossings[inner.clone()].iter().copied().min().filter(|lowest| *lowest <= few)?;
    let (start, end) = longest(inner, |at| crossings[at] <= lowest + segments.len() as i64 / 50);
    let gap = left + width * (start + end) as f64 / (2 * BUCKETS) as f64;
    let is_text = |side: Vec<&Segment>, width: f64| {
        let middle = side.len() / 2;
        let mut widths: Vec<f64> = side.iter().map(|segment| segment.right - segment.x).collect();
        let mut lengths: Vec<usize> = side.iter().map(|segment| segment.text.len()).collect();
        widths.sort_by(f64::total_cmp);
        lengths.sort_unstable();
        side.len() >= 4 && widths[middle] > 0.4 * width && lengths[middle] >= 15
    };
    let on_left = segments.iter().filter(|segment| segment.right <= gap).collect();
    let on_right = segments.iter().filter(|segment| segment.x >= gap).collect();
    (is_text(on_left, gap - left) && is_text(on_right, right - gap)).then_some(gap)
}

/// Returns the longest range in which `wanted` is true.
fn longest(places: std::ops::Range<usize>, wanted: impl Fn(usize) -> bool) -> (usize, usize) {
    let mut best = (places.start, places.start);
    let mut start = places.start;
    for at in places {
        if !wanted(at) {
            start = at + 1;
        } else if at + 1 - start > best.1 - best.0 {
            best = (start, at + 1);
        }
    }
    best
}

#[cfg(test)]
mod tests;
