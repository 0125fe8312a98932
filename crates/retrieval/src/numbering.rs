//! New consecutive numbers after some entries of a list were removed.

pub struct Numbering(Vec<Option<u32>>);

impl Numbering {
    /// Creates a numbering from a list that says of each old number whether it is kept.
    pub fn of(kept: impl Iterator<Item = bool>) -> Self {
        let mut next = 0..;
        Self(kept.map(|is_kept| if is_kept { next.next() } else { None }).collect())
    }

    pub fn keeps(&self, old: usize) -> bool {
        self.0[old].is_some()
    }

    /// Returns the new number of one that is kept.
    pub fn new_number(&self, old: u32) -> Option<u32> {
        self.0.get(old as usize).copied().flatten()
    }

    /// Replaces an old number by the new one.
    pub fn renumber(&self, number: &mut u32) {
        *number = self.0[*number as usize].unwrap_or_default();
    }

    /// Removes from a list, indexed by the old numbers, what is not kept.
    pub fn retain<T>(&self, entries: &mut Vec<T>) {
        let mut kept = self.0.iter().map(Option::is_some);
        entries.retain(|_| kept.next().unwrap_or_default());
        entries.shrink_to_fit();
    }
}
