//! A page: its lines, in reading order.

use super::layout::Line;

pub(in crate::read) struct Page {
    pub number: u32,
    pub lines: Vec<Line>,
}
