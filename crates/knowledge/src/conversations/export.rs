//! A conversation as Markdown: each question, each answer, and the sources after the answer.

use crate::records::{Message, MessageRole, MessageStatus};
use serde_json::Value;

/// Characters of a source's text that are shown.
const EXCERPT: usize = 300;

/// Returns the first lines.
pub fn export_title(title: &str) -> String {
    format!("# {}\n", escape(title))
}

/// Returns a message, to follow the lines before it.
pub fn export_message(message: &Message) -> String {
    let text = message.content.trim();
    if message.role == MessageRole::User {
        let quoted: Vec<String> =
            text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
        return format!("\n## Question\n\n{}\n", quoted.join("\n"));
    }
    let mut lines = format!("\n## Answer\n\n{text}\n");
    let note = match (message.status, &message.error) {
        (MessageStatus::Complete, _) => None,
        (MessageStatus::Running, _) => Some("This answer is still being written.".to_owned()),
        (MessageStatus::Stopped, _) => Some("This answer was stopped.".to_owned()),
        (MessageStatus::Error, error) => {
            Some(format!("This answer failed: {}", escape(error.as_deref().unwrap_or_default())))
        }
    };
    if let Some(note) = note {
        lines.push_str(&format!("\n*{note}*\n"));
    }
    for notice in message.notices.iter().filter(|notice| !text.contains(*notice)) {
        lines.push_str(&format!("\n*{}*\n", escape(notice)));
    }
    if !message.sources.is_empty() {
        let sources: Vec<String> = message.sources.iter().enumerate().map(source_line).collect();
        lines.push_str(&format!("\nSources:\n\n{}\n", sources.join("\n")));
    }
    lines
}

fn source_line((index, source): (usize, &Value)) -> String {
    let metadata = &source["metadata"];
    let title = metadata["documentTitle"].as_str().filter(|title| !title.is_empty()).unwrap_or("Untitled");
    let page = metadata["page"].as_i64().map(|page| format!(", page {page}")).unwrap_or_default();
    let text = source["text"].as_str().unwrap_or_default();
    let (text, is_cut) = kit::page::excerpt(text, EXCERPT);
    let dots = if is_cut { "…" } else { "" };
    format!("{}. **{}**{page}: {}{dots}", index + 1, escape(title), escape(text))
}

/// Puts a text on one line, as Markdown that shows it as it is.
fn escape(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let mut escaped = String::with_capacity(line.len());
    for character in line.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '~' | '&') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: MessageRole, content: &str, sources: &str) -> Message {
        Message {
            id: String::new(),
            conversation_id: String::new(),
            number: 1,
            role,
            content: content.to_owned(),
            status: MessageStatus::Complete,
            error: None,
            sources: serde_json::from_str(sources).unwrap(),
            notices: Vec::new(),
            provider: None,
            model: None,
            agent_type: None,
            document_ids: Vec::new(),
            space_ids: Vec::new(),
            without_documents: false,
            created_at: 0,
        }
    }

    #[test]
    fn questions_are_quoted_and_sources_listed() {
        let question = message(MessageRole::User, "# How often?\n\nPlease.", "[]");
        assert_eq!(export_message(&question), "\n## Question\n\n> # How often?\n>\n> Please.\n");
        let sources = r#"[{"text": "The seal\nis *old*.", "metadata": {"documentTitle": "Pump <b>", "page": 3}},
            {"text": "x", "metadata": {}}]"#;
        let mut answer = message(MessageRole::Assistant, "Every **year** [1].", sources);
        let expected = "\n## Answer\n\nEvery **year** [1].\n\nSources:\n\n\
            1. **Pump \\<b\\>**, page 3: The seal is \\*old\\*.\n2. **Untitled**: x\n";
        assert_eq!(export_message(&answer), expected);
        answer.sources.clear();
        answer.status = MessageStatus::Error;
        answer.error = Some("the answer was interrupted".to_owned());
        assert!(
            export_message(&answer).ends_with("[1].\n\n*This answer failed: the answer was interrupted*\n")
        );
    }

    #[test]
    fn a_title_stays_on_its_line() {
        assert_eq!(export_title("A\n# B"), "# A \\# B\n");
    }
}
