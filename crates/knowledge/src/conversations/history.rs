//! What a model is told of the messages before a question: the last turns, as text.

use crate::chat::uncited;
use crate::records::{Message, MessageRole};
use crate::tables::messages;
use store::{Db, StoreError};

/// More would hardly fit into a model's window beside the sources.
const MOST_MESSAGES: usize = 20;
/// In bytes.
const LONGEST: usize = 16 << 10;

pub async fn before(db: &Db, question: &Message) -> Result<String, StoreError> {
    let newest_first =
        messages::before(db, &question.conversation_id, question.number, MOST_MESSAGES).await?;
    Ok(history_of(&newest_first))
}

fn history_of(newest_first: &[Message]) -> String {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for message in newest_first.iter().filter(|message| !message.content.trim().is_empty()) {
        let line = match message.role {
            MessageRole::User => format!("User: {}", message.content.trim()),
            // Their numbers are of other sources than those of the new answer.
            MessageRole::Assistant => format!("Assistant: {}", uncited(message.content.trim())),
        };
        bytes += line.len();
        if bytes > LONGEST && !lines.is_empty() {
            break;
        }
        let start = line.len().saturating_sub(LONGEST);
        lines.push(line[line.ceil_char_boundary(start)..].to_owned());
    }
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::MessageStatus;

    fn message(role: MessageRole, content: &str) -> Message {
        Message {
            id: String::new(),
            conversation_id: String::new(),
            number: 0,
            role,
            content: content.to_owned(),
            status: MessageStatus::Complete,
            error: None,
            sources: Vec::new(),
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
    fn a_history_has_the_last_turns_without_their_citations() {
        let newest_first = [
            message(MessageRole::Assistant, ""),
            message(MessageRole::User, "And the bearings?"),
            message(MessageRole::Assistant, "Every year [1], or [2, 3]."),
            message(MessageRole::User, " How often? "),
        ];
        assert_eq!(
            history_of(&newest_first),
            "User: How often?\nAssistant: Every year, or.\nUser: And the bearings?"
        );
        assert_eq!(history_of(&[]), "");
    }

    #[test]
    fn a_history_is_bounded() {
        let long = [message(MessageRole::User, &"ä".repeat(LONGEST)), message(MessageRole::User, "Earlier")];
        let history = history_of(&long);
        assert!((LONGEST - 4..=LONGEST).contains(&history.len()), "{}", history.len());
        let many: Vec<Message> = (0..50).map(|_| message(MessageRole::User, &"b".repeat(1_000))).collect();
        assert_eq!(history_of(&many).matches("User: ").count(), LONGEST / 1_006);
    }
}
