//! Findings of a deep check: what was examined, how much of it is right, and the first faults.

/// Faults that are listed; the others are counted.
const LISTED: usize = 5;

/// Whether what was examined is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    /// Something is missing that the program makes again by itself.
    Warning,
    Failed,
}

/// What a check found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: String,
    pub verdict: Verdict,
    /// May have several lines.
    pub detail: String,
}

impl Finding {
    pub fn failed(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict: Verdict::Failed, detail: detail.into() }
    }
}

/// Counts what a check examines, and collects the faults.
#[derive(Default)]
pub struct Tally {
    examined: u64,
    faults: u64,
    /// Faults that a line of `listed` describes.
    described: u64,
    listed: Vec<String>,
}

impl Tally {
    /// Counts things that were examined.
    pub fn examine(&mut self, number: u64) {
        self.examined += number;
    }

    /// Adds a fault. Only the first few are kept.
    pub fn fault(&mut self, fault: impl Into<String>) {
        self.faults += 1;
        if self.listed.len() < LISTED {
            self.described += 1;
            self.listed.push(fault.into());
        }
    }

    /// Adds faults of the same kind, which one line describes.
    pub fn faults(&mut self, number: u64, description: &str) {
        self.faults += number;
        self.described += number;
        self.listed.push(description.to_owned());
    }

    pub fn is_empty(&self) -> bool {
        self.examined == 0
    }

    /// Returns the finding: failed if there was a fault.
    pub fn finding(self, name: &str) -> Finding {
        self.judged(name, Verdict::Failed)
    }

    /// Returns the finding: a warning if there was a fault.
    pub fn warning(self, name: &str) -> Finding {
        self.judged(name, Verdict::Warning)
    }

    fn judged(self, name: &str, if_faulty: Verdict) -> Finding {
        let right = self.examined.saturating_sub(self.faults);
        let mut lines = vec![format!("{right} of {}", self.examined)];
        let more = self.faults.saturating_sub(self.described);
        lines.extend(self.listed);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let verdict = if self.faults == 0 { Verdict::Ok } else { if_faulty };
        Finding { name: name.to_owned(), verdict, detail: lines.join("\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_counts_all_faults_and_lists_the_first() {
        let mut tally = Tally::default();
        tally.examine(10);
        (0..7).for_each(|number| tally.fault(format!("fault {number}")));
        let finding = tally.finding("things");
        assert_eq!(finding.verdict, Verdict::Failed);
        assert_eq!(finding.detail, "3 of 10\nfault 0\nfault 1\nfault 2\nfault 3\nfault 4\nand 2 more");
        let none = Tally::default().finding("nothing");
        assert_eq!((none.verdict, none.detail.as_str()), (Verdict::Ok, "0 of 0"));
    }
}
