//! Sizes of recognised text. They vary from line to line, and small differences must not make headings.

use super::Recognised;

/// The size of running text in pictures, in points, since their pixels tell no size.
const BODY: f64 = 10.0;
/// Sizes between these parts of the usual size are the usual size.
const USUAL: std::ops::Range<f64> = 0.75..1.3;

/// Scales pictures so that their running text has a usual size in points.
pub(super) fn to_points(pages: &mut [(u32, Recognised)]) {
    let Some(body) = usual_size(pages) else { return };
    pages.iter_mut().for_each(|(_, page)| page.scale(BODY / body));
}

/// Gives lines of about the usual size that very size, and others a multiple of it. `text` is the size of running
/// text on the pages that were not recognised.
pub(crate) fn settle(pages: &mut [(u32, Recognised)], text: Option<f64>) {
    let Some(usual) = usual_size(pages) else { return };
    let body = text.filter(|text| USUAL.contains(&(usual / text))).unwrap_or(usual);
    for run in pages.iter_mut().flat_map(|(_, page)| &mut page.runs) {
        let ratio = run.size / usual;
        run.size = if USUAL.contains(&ratio) { body } else { (ratio * 4.0).round().max(1.0) / 4.0 * body };
    }
}

/// Returns the size of the middle character.
fn usual_size(pages: &[(u32, Recognised)]) -> Option<f64> {
    let runs = pages.iter().flat_map(|(_, page)| &page.runs);
    let mut sizes: Vec<(f64, usize)> = runs.map(|run| (run.size, run.text.len())).collect();
    sizes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = sizes.iter().map(|(_, count)| count).sum::<usize>() / 2;
    let mut seen = 0;
    let middle = sizes.into_iter().find(|(_, count)| {
        seen += count;
        seen > half
    });
    middle.map(|(size, _)| size).filter(|size| *size > 0.0)
}

impl Recognised {
    pub fn scale(&mut self, factor: f64) {
        self.width *= factor;
        for run in &mut self.runs {
            (run.x, run.y) = (run.x * factor, run.y * factor);
            (run.width, run.size) = (run.width * factor, run.size * factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::printed::Glyph;

    fn pages(sizes: &[f64]) -> Vec<(u32, Recognised)> {
        let run = |size: &f64| Glyph {
            x: 0.0,
            y: 0.0,
            width: 9.0,
            size: *size,
            text: "words".to_owned(),
            quarter_turns: 0,
        };
        vec![(1, Recognised { runs: sizes.iter().map(run).collect(), width: 100.0, confidence: 90.0 })]
    }

    fn sizes(pages: &[(u32, Recognised)]) -> Vec<f64> {
        pages.iter().flat_map(|(_, page)| &page.runs).map(|run| run.size).collect()
    }

    #[test]
    fn about_the_usual_size_is_the_usual_size_and_headings_are_multiples() {
        let mut found = pages(&[20.0, 19.0, 21.0, 25.0, 20.0, 20.0, 39.0, 41.0, 9.0]);
        settle(&mut found, None);
        assert_eq!(sizes(&found), [20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 40.0, 40.0, 10.0]);
        settle(&mut found, Some(22.0));
        assert_eq!(sizes(&found)[..7], [22.0, 22.0, 22.0, 22.0, 22.0, 22.0, 44.0]);
    }

    #[test]
    fn pictures_are_scaled_to_a_usual_size() {
        let mut found = pages(&[40.0, 40.0, 80.0]);
        to_points(&mut found);
        assert_eq!((sizes(&found), found[0].1.width), (vec![10.0, 10.0, 20.0], 25.0));
    }
}
