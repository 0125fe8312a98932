//! Tables with ruled lines: the lines make a grid, and characters belong to the cell that they stand in.

use std::collections::{BTreeMap, HashSet};

use pdf_extract::{Path, PathOp, Transform};

use crate::clean;
use crate::read::printed::{CELL_GAP, Cell, Glyph, Line, lines};

/// A straight line on a page, as the rectangle that it fills, in points.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    left: f64,
    bottom: f64,
    right: f64,
    top: f64,
}

/// Thicker or shorter ones are not lines of a table.
const THICKEST: f64 = 3.0;
const SHORTEST: f64 = 6.0;
/// Lines this near to each other touch, or are one.
const NEAR: f64 = 3.0;
/// Pages with more lines are drawings.
pub(super) const MOST_RULES: usize = 3000;
/// A cell with more lines has several rows.
const MOST_WRAPPED: usize = 4;
/// A table has fewer cells.
const MOST_CELLS: usize = 20_000;

impl Rule {
    /// Returns the straight lines of a path that is drawn, or filled.
    pub fn of_path(transform: &Transform, path: &Path, is_filled: bool) -> Vec<Self> {
        let mut rules = Vec::new();
        let (mut start, mut last) = ((0.0, 0.0), (0.0, 0.0));
        for operation in path.ops.iter().take(MOST_RULES) {
            match *operation {
                PathOp::MoveTo(x, y) => (start, last) = ((x, y), (x, y)),
                PathOp::LineTo(x, y) => {
                    rules.extend(Self::between(transform, last, (x, y)));
                    last = (x, y);
                }
                PathOp::Close => {
                    rules.extend(Self::between(transform, last, start));
                    last = start;
                }
                PathOp::CurveTo(.., x, y) => last = (x, y),
                PathOp::Rect(x, y, width, height) => {
                    let (right, top) = (x + width, y + height);
                    match Self::between(transform, (x, y), (right, top)) {
                        Some(thin) => rules.push(thin),
                        None if is_filled => {}
                        None => {
                            let corners = [(x, y), (right, y), (right, top), (x, top), (x, y)];
                            let sides = corners.windows(2);
                            rules.extend(sides.filter_map(|side| Self::between(transform, side[0], side[1])));
                        }
                    }
                }
            }
        }
        rules
    }

    /// Returns none unless the line is level or upright.
    fn between(transform: &Transform, from: (f64, f64), to: (f64, f64)) -> Option<Self> {
        let placed = |(x, y): (f64, f64)| {
            (
                x * transform.m11 + y * transform.m21 + transform.m31,
                x * transform.m12 + y * transform.m22 + transform.m32,
            )
        };
        let (from, to) = (placed(from), placed(to));
        let rule = Self {
            left: from.0.min(to.0),
            bottom: from.1.min(to.1),
            right: from.0.max(to.0),
            top: from.1.max(to.1),
        };
        let is_sane = [rule.left, rule.bottom, rule.right, rule.top].iter().all(|side| side.abs() < 1e6);
        (is_sane && (rule.is_level() || rule.is_upright())).then_some(rule)
    }

    fn is_level(&self) -> bool {
        self.top - self.bottom <= THICKEST && self.right - self.left >= SHORTEST
    }

    fn is_upright(&self) -> bool {
        self.right - self.left <= THICKEST && self.top - self.bottom >= SHORTEST
    }

    /// Returns where an upright line is.
    fn middle(&self) -> f64 {
        (self.left + self.right) / 2.0
    }

    fn touches(&self, other: &Self) -> bool {
        self.left - NEAR <= other.right
            && other.left - NEAR <= self.right
            && self.bottom - NEAR <= other.top
            && other.bottom - NEAR <= self.top
    }
}

/// Takes the characters of ruled tables out of a page, and returns the rows of each table.
pub(super) fn take_tables(rules: &[Rule], glyphs: &mut Vec<Glyph>) -> Vec<Vec<Line>> {
    if rules.len() > MOST_RULES {
        return Vec::new();
    }
    let grids = groups(rules).into_iter().filter_map(|group| Grid::of(&group));
    let tables = grids.filter_map(|grid| grid.take(glyphs));
    tables
        .zip(1..)
        .map(|(rows, number)| rows.into_iter().map(|row| Line { table: number, ..row }).collect())
        .collect()
}

/// Puts the rows of a table between the lines of its page, after the last line above it.
pub(super) fn insert(table: Vec<Line>, lines: &mut Vec<Line>) {
    let Some(first) = table.first() else { return };
    let (y, x, right) = (first.y, first.x, first.right);
    let is_beside = |line: &Line| line.x < right && line.right > x;
    let above = lines.iter().rposition(|line| line.y > y && is_beside(line));
    let below = lines.iter().position(|line| line.y < y && is_beside(line));
    let at = above.map(|above| above + 1).or(below).unwrap_or(lines.len());
    lines.splice(at..at, table);
}

/// Groups rules that touch each other.
fn groups(rules: &[Rule]) -> Vec<Vec<Rule>> {
    let mut parents: Vec<usize> = (0..rules.len()).collect();
    for (at, rule) in rules.iter().enumerate() {
        for (other_at, other) in rules[..at].iter().enumerate() {
            if rule.touches(other) {
                let (one, other) = (root(&mut parents, at), root(&mut parents, other_at));
                parents[one] = other;
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<Rule>> = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate() {
        groups.entry(root(&mut parents, at)).or_default().push(*rule);
    }
    groups.into_values().collect()
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// The lines of a table: from the left, and from the top.
struct Grid {
    xs: Vec<f64>,
    ys: Vec<f64>,
    uprights: Vec<Rule>,
}

/// Characters nearer to each other than this part of their size are of one phrase.
const PHRASE_GAP: f64 = 0.6;

impl Grid {
    /// Returns none unless there are at least two columns and two rows.
    fn of(rules: &[Rule]) -> Option<Self> {
        let uprights: Vec<Rule> = rules.iter().filter(|rule| rule.is_upright()).copied().collect();
        let upright = uprights.iter().map(Rule::middle);
        let level = rules.iter().filter(|rule| rule.is_level()).map(|rule| (rule.bottom + rule.top) / 2.0);
        let (xs, mut ys) = (distinct(upright), distinct(level));
        ys.reverse();
        let is_table = xs.len() >= 3 && ys.len() >= 3 && xs.len() * ys.len() <= MOST_CELLS;
        is_table.then_some(Self { xs, ys, uprights })
    }

    /// Returns the row and the column of a character.
    fn place(&self, glyph: &Glyph) -> Option<(usize, usize)> {
        let (x, y) = (glyph.x + glyph.width / 2.0, glyph.y + 0.3 * glyph.size);
        let column = self.xs.windows(2).position(|edges| x >= edges[0] && x < edges[1])?;
        let row = self.ys.windows(2).position(|edges| y <= edges[0] && y > edges[1])?;
        Some((row, column))
    }

    /// Returns the rows and the columns that are one cell with the column before: a phrase runs from one into the other,
    /// and there is no line between them.
    fn joined(&self, glyphs: &[Glyph], places: &[Option<(usize, usize)>]) -> HashSet<(usize, usize)> {
        let placed = glyphs.iter().zip(places).filter_map(|(glyph, place)| Some((glyph, (*place)?)));
        let mut placed: Vec<_> = placed.filter(|(glyph, _)| !glyph.text.trim().is_empty()).collect();
        let order = |(glyph, (row, _)): &(&Glyph, (usize, usize))| (*row, -glyph.y, glyph.x);
        placed.sort_by(|one, other| {
            let (one, other) = (order(one), order(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(one.2.total_cmp(&other.2))
        });
        let joined = placed.windows(2).filter_map(|pair| {
            let [(one, (row, left)), (other, place)] = pair else { return None };
            let is_phrase = (one.y - other.y).abs() < 0.1 * one.size
                && other.x - (one.x + one.width) < PHRASE_GAP * one.size;
            let is_next = *place == (*row, left + 1);
            (is_phrase && is_next && !self.is_ruled(*place)).then_some(*place)
        });
        joined.collect()
    }

    /// Returns whether a line is drawn before this column, in the middle of this row.
    fn is_ruled(&self, (row, column): (usize, usize)) -> bool {
        let (x, y) = (self.xs[column], (self.ys[row] + self.ys[row + 1]) / 2.0);
        let is_there = |rule: &Rule| (rule.middle() - x).abs() < NEAR && rule.bottom <= y && rule.top >= y;
        self.uprights.iter().any(is_there)
    }

    /// Takes the characters in the grid, and returns its rows. Most cells of a chart or a form are empty: their
    /// characters are left.
    fn take(&self, glyphs: &mut Vec<Glyph>) -> Option<Vec<Line>> {
        let columns = self.xs.len() - 1;
        let places: Vec<Option<(usize, usize)>> = glyphs.iter().map(|glyph| self.place(glyph)).collect();
        let mut filled: Vec<(usize, usize)> = places.iter().flatten().copied().collect();
        filled.sort_unstable();
        filled.dedup();
        if filled.len() < 4 || filled.len() * 4 < columns * (self.ys.len() - 1) {
            return None;
        }
        let mut cells: Vec<Vec<Vec<Glyph>>> = Vec::new();
        for _ in 1..self.ys.len() {
            cells.push((0..columns).map(|_| Vec::new()).collect());
        }
        let joined = self.joined(glyphs, &places);
        let mut left = Vec::new();
        for (glyph, place) in glyphs.drain(..).zip(places) {
            match place {
                Some((row, mut column)) => {
                    while joined.contains(&(row, column)) {
                        column -= 1;
                    }
                    cells[row][column].push(glyph);
                }
                None => left.push(glyph),
            }
        }
        *glyphs = left;
        let size = usual_size(cells.iter().flatten().flatten());
        let rows =
            cells.iter().zip(self.ys.windows(2)).flat_map(|(row, edges)| self.rows(row, edges[0], size));
        Some(rows.collect())
    }

    /// Returns the rows between two lines: one, or several if the table has no lines between its rows.
    fn rows(&self, cells: &[Vec<Glyph>], top: f64, size: f64) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = cells.iter().map(|glyphs| lines(glyphs)).collect();
        // Where other rows have a line below them, a few lines of text are one row if a sentence runs through them.
        let is_low = cells.iter().all(|lines| lines.len() <= MOST_WRAPPED);
        let is_one = is_low && self.ys.len() > 3 && cells.iter().any(|lines| has_broken_sentence(lines));
        let baselines: Vec<f64> = match is_several(&cells, size) && !is_one {
            true => cells[0].iter().map(|line| line.y).collect(),
            false => vec![top],
        };
        let row = |at: usize, y: f64| {
            let of_row = |line: &&Line| baselines.len() == 1 || (line.y - baselines[at]).abs() < 0.4 * size;
            let texts = cells.iter().map(|lines| {
                let lines: Vec<String> =
                    lines.iter().filter(of_row).map(|line| line.text.replace(CELL_GAP, " ")).collect();
                clean::unwrap(lines.iter().map(String::as_str))
            });
            self.line(texts.collect(), y, size)
        };
        baselines.iter().enumerate().map(|(at, y)| row(at, *y)).collect()
    }

    fn line(&self, texts: Vec<String>, y: f64, size: f64) -> Line {
        let (x, right) = (self.xs[0], self.xs[self.xs.len() - 1]);
        let filled: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let text = filled.join(CELL_GAP);
        let edges = self.xs.windows(2);
        let cells =
            texts.into_iter().zip(edges).map(|(text, edges)| Cell { text, x: edges[0], right: edges[1] });
        let cells = cells.collect();
        Line { text, x, right, y, bottom: y, size, column: (x, right), is_row: true, cells, table: 0 }
    }
}

/// Returns whether the cells between two lines hold several rows: each line of a cell is beside one of the first.
fn is_several(cells: &[Vec<Line>], size: f64) -> bool {
    let Some((first, others)) = cells.split_first() else { return false };
    let is_beside = |line: &Line| first.iter().any(|one| (one.y - line.y).abs() < 0.4 * size);
    first.len() > 1
        && others.iter().any(|lines| lines.len() == first.len())
        && others.iter().flatten().all(is_beside)
}

fn has_broken_sentence(lines: &[Line]) -> bool {
    lines.windows(2).any(|pair| {
        let [above, below] = [pair[0].text.trim(), pair[1].text.trim()];
        below.starts_with(char::is_lowercase)
            && above.contains(' ')
            && !above.ends_with(['.', ':', ';', '!', '?'])
    })
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by(|one, other| (*one - *other).abs() < NEAR);
    values
}

fn usual_size<'g>(glyphs: impl Iterator<Item = &'g Glyph>) -> f64 {
    let mut sizes: Vec<f64> = glyphs.map(|glyph| glyph.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(10.0)
}
