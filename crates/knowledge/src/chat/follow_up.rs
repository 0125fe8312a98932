//! What a question continues: the one before it.

/// In words. The reader has room for about so many of two questions.
const MAX_BEFORE_WORDS: usize = 30;

/// Returns the question after the end of the one before it in the conversation, if there is one. The reader was trained to
/// answer the last of two. Before a question that is long itself, there is no room for another.
pub fn complete(question: &str, history: &str) -> Option<String> {
    let questions = history.lines().filter_map(|line| line.strip_prefix("User: "));
    let before: Vec<&str> = questions
        .map(|before| before.split_whitespace().collect())
        .rfind(|words: &Vec<_>| !words.is_empty())?;
    let room = MAX_BEFORE_WORDS.checked_sub(question.split_whitespace().count())?;
    let kept = before[before.len().saturating_sub(room)..].join(" ");
    Some(format!("{kept} {question}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_follows_the_last_one() {
        let history =
            "User: Who?\nAssistant: Ada [1].\nUser: What is the idle timeout?\nAssistant: 10 s [1].\nUser: ";
        let completed = complete("How do I change it?", history);
        assert_eq!(completed.as_deref(), Some("What is the idle timeout? How do I change it?"));
        assert_eq!(complete("Why?", ""), None);
        assert_eq!(complete(&"why ".repeat(40), history), None);
        let long = format!("User: {}", "word ".repeat(50));
        assert_eq!(complete("Why?", &long).map(|completed| completed.split(' ').count()), Some(30));
    }
}
