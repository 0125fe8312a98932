//! A chat in the form that every vendor accepts: one system text, then alternating turns of user and assistant.

use crate::{Chat, Message, Role};

/// The smallest limit of the vendors.
const MOST_STOPS: usize = 4;

pub struct Question {
    pub model: String,
    pub system: Option<String>,
    /// The first is the user's, and the roles alternate.
    pub turns: Vec<Turn>,
    pub max_tokens: usize,
    pub temperature: f32,
    /// Never an empty list.
    pub stop: Option<Vec<String>>,
    /// Fits into 31 bits, the smallest range of the vendors.
    pub seed: u32,
    pub tries: u32,
}

pub struct Turn {
    pub assistant: bool,
    pub text: String,
}

impl Question {
    pub fn new(model: String, chat: Chat) -> Self {
        let (system, others): (Vec<_>, Vec<_>) =
            chat.messages.into_iter().partition(|one| one.role == Role::System);
        let system: Vec<String> = system.into_iter().map(|message| message.text).collect();
        let stop: Vec<String> = chat.stop.into_iter().take(MOST_STOPS).collect();
        Self {
            model,
            system: Some(system.join("\n\n")).filter(|text| !text.is_empty()),
            turns: turns(others),
            max_tokens: chat.max_tokens.max(1),
            temperature: chat.temperature,
            stop: Some(stop).filter(|stop| !stop.is_empty()),
            seed: (chat.seed & 0x7fff_ffff) as u32,
            tries: chat.tries,
        }
    }

    pub fn bytes(&self) -> usize {
        self.system.as_ref().map_or(0, String::len)
            + self.turns.iter().map(|turn| turn.text.len()).sum::<usize>()
    }
}

/// Merges the messages into turns. Vendors refuse empty texts, two turns of the same role, and an answer before the
/// first question, which remains if a long history is cut.
fn turns(messages: Vec<Message>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages.into_iter().filter(|message| !message.text.trim().is_empty()) {
        let assistant = message.role == Role::Assistant;
        match turns.last_mut() {
            Some(last) if last.assistant == assistant => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            None if assistant => {}
            _ => turns.push(Turn { assistant, text: message.text }),
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(messages: Vec<Message>) -> Question {
        let stop = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let chat = Chat {
            messages,
            max_tokens: 0,
            temperature: 0.5,
            stop,
            seed: u64::MAX,
            urgent: true,
            user: String::new(),
            tries: 1,
        };
        Question::new("m".to_owned(), chat)
    }

    #[test]
    fn neighbours_of_one_role_become_one_turn() {
        let question = question(vec![
            Message::assistant("cut off"),
            Message::system("one"),
            Message::user("a"),
            Message::user("b"),
            Message::assistant(" \n"),
            Message::user("c"),
            Message::assistant("d"),
            Message::system("two"),
            Message::assistant("e"),
            Message::user("f"),
        ]);
        assert_eq!(question.system.as_deref(), Some("one\n\ntwo"));
        let turns: Vec<_> = question.turns.iter().map(|turn| (turn.assistant, turn.text.as_str())).collect();
        assert_eq!(turns, [(false, "a\n\nb\n\nc"), (true, "d\n\ne"), (false, "f")]);
    }

    #[test]
    fn numbers_and_lists_fit_every_vendor() {
        let question = question(vec![Message::user("a")]);
        assert_eq!((question.max_tokens, question.seed), (1, 0x7fff_ffff));
        assert_eq!(question.stop.map(|stop| stop.len()), Some(4));
        assert_eq!(question.system, None);
    }
}
