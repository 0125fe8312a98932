//! How much each agent shows with the embedded reader, and in what form. What the agents are for, only a model that writes
//! can follow.

use super::agents::Agent;
use super::citations::uncited;
use reading::{Form, Part, Shown};

pub struct AnswerStyle {
    /// The line above the parts.
    heading: &'static str,
    mark: Mark,
    pub shown: Shown,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    None,
    Bullet,
    Number,
    Box,
}

/// How much less sure than of the best part an answer may be of its second one. As many questions of `a`, `b` and
/// `bench/answers` are answered rightly with 1 and 3; with 1, what is asked of two documents is answered from one.
const MARGIN: f32 = 2.0;

impl AnswerStyle {
    pub fn of(agent: Agent) -> Self {
        // A list has all that answers.
        let list = |heading, mark, most| Self { heading, mark, shown: Shown { most, margin: f32::INFINITY } };
        match agent {
            Agent::RagChat => {
                Self { heading: "", mark: Mark::None, shown: Shown { most: 2, margin: MARGIN } }
            }
            Agent::GraphAnalyst => list("Where the documents connect them:", Mark::Bullet, 4),
            Agent::ExecutiveSummary => list("Key points:", Mark::Bullet, 4),
            Agent::TechnicalAuditor => list("Findings:", Mark::Number, 5),
            Agent::FuturePlanner => list("Next steps, as far as the documents say:", Mark::Bullet, 5),
            Agent::Coordinator => list("Checklist:", Mark::Box, 6),
            Agent::Critic => list("What the documents say:", Mark::Bullet, 5),
        }
    }

    /// Returns the parts with their citations; each has the index of its source.
    pub fn lay_out(&self, parts: &[(usize, Part)], connections: &[String]) -> String {
        let mut text = String::new();
        if !connections.is_empty() {
            text.push_str("Connections, the strongest first:");
            connections.iter().for_each(|connection| text.push_str(&format!("\n- {connection}")));
            text.push_str("\n\n");
        }
        text.push_str(self.heading);
        let mut listed = 0;
        for (source, part) in parts {
            let cited = cited(part, source + 1);
            // Lines of its own would end a list.
            let is_block = matches!(part.form, Form::List | Form::Rows | Form::Code);
            listed = if is_block || self.mark == Mark::None { 0 } else { listed + 1 };
            let is_next = listed > 1 || listed == 1 && text.ends_with(self.heading);
            let between = if text.is_empty() || text.ends_with('\n') {
                ""
            } else if is_next {
                "\n"
            } else {
                "\n\n"
            };
            let mark = match self.mark {
                _ if listed == 0 => String::new(),
                Mark::None => String::new(),
                Mark::Bullet => "- ".to_owned(),
                Mark::Number => format!("{listed}. "),
                Mark::Box => "- [ ] ".to_owned(),
            };
            text.push_str(&format!("{between}{mark}{cited}"));
        }
        text
    }
}

/// Returns a part with its citation. What brackets a document's own prose has are removed if they look like one.
pub fn cited(part: &Part, number: usize) -> String {
    let is_prose = matches!(part.form, Form::Prose | Form::Entry) && !part.text.contains('`');
    let plain = if is_prose { uncited(&part.text) } else { part.text.clone() };
    match plain.split_once('\n') {
        // A number at the end of a list would seem to belong to its last entry alone.
        Some((lead, rest)) if lead.ends_with(':') => format!("{lead} [{number}]\n{rest}"),
        Some(_) => format!("{plain}\n\n[{number}]"),
        None => format!("{plain} [{number}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_differ_in_how_much_they_show_and_how() {
        let part = |text: &str, form| Part { passage: 0, text: text.to_owned(), form };
        let list = part("It has:\n- RAM\n- ROM", Form::List);
        let parts =
            [(0, part("The pump is blue [7].", Form::Prose)), (1, list), (0, part("It leaks.", Form::Prose))];
        let shown = |agent| AnswerStyle::of(agent).lay_out(&parts, &[]);
        let plain = "The pump is blue. [1]\n\nIt has: [2]\n- RAM\n- ROM\n\nIt leaks. [1]";
        assert_eq!(shown(Agent::RagChat), plain);
        let numbered = "Findings:\n1. The pump is blue. [1]\n\nIt has: [2]\n- RAM\n- ROM\n\n1. It leaks. [1]";
        assert_eq!(shown(Agent::TechnicalAuditor), numbered);
        assert!(shown(Agent::Coordinator).contains("- [ ] The pump is blue. [1]"));
        assert_eq!(cited(&part("| a |\n|---|\n| 1 |", Form::Rows), 3), "| a |\n|---|\n| 1 |\n\n[3]");
        assert_eq!(cited(&part("set `a[0]`", Form::Prose), 3), "set `a[0]` [3]");
    }
}
