//! New numbers for things of which some are gone, so that the numbers of the others follow each other again.

pub struct Numbering(Vec<Option<u32>>);

impl Numbering {
    /// From what says of each thing whether it is kept.
    pub fn of(kept: impl Iterator<Item = bool>) -> Self {
        let mut next = 0..;
        Self(kept.map(|is_kept| if is_kept { next.next() } else { None }).collect())
    }

    pub fn keeps(&self, old: usize) -> bool {
        self.0[old].is_some()
    }

    /// The new number of something that is kept.
    pub fn renumber(&self, number: &mut u32) {
        *number = self.0[*number as usize].unwrap_or_default();
    }

    /// Keeps of a list with one entry for each thing those of the things that are kept.
    pub fn retain<T>(&self, entries: &mut Vec<T>) {
        let mut kept = self.0.iter().map(Option::is_some);
        entries.retain(|_| kept.next().unwrap_or_default());
        entries.shrink_to_fit();
    }
}
