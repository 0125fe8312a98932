//! A chat in the form that every vendor accepts: one system text, then alternating turns of user and assistant.

use crate::{Chat, Format, Message, Picture, Role, ToolCall, Tools};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

/// The smallest limit of the vendors.
const MOST_STOPS: usize = 4;
/// Between the id of a call and the signature that Google wants back with it.
const BEFORE_SIGNATURE: char = '~';

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
    /// Tokens of the question, estimated, for vendors that do not count them.
    pub tokens: usize,
    pub tools: Option<Tools>,
    pub format: Format,
}

#[derive(Default)]
pub struct Turn {
    pub assistant: bool,
    /// What the assistant's calls before it have returned; of the user's turns only.
    pub results: Vec<CallResult>,
    pub pictures: Vec<Picture>,
    pub text: String,
    /// Of the assistant's turns only.
    pub calls: Vec<SentCall>,
}

pub struct CallResult {
    pub call_id: String,
    /// The function's name; empty if there is no such call.
    pub name: String,
    pub text: String,
}

/// A call of an answer before, as it is sent back.
pub struct SentCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
    /// What Google's models know their thoughts by.
    pub signature: Option<String>,
}

impl Question {
    pub fn new(model: String, chat: Chat) -> Self {
        let tokens = chat.estimated_tokens();
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
            tokens,
            tools: chat.tools,
            format: chat.format,
        }
    }
}

impl Turn {
    fn add(&mut self, message: Message, results: Vec<CallResult>) {
        self.results.extend(results);
        self.pictures.extend(message.pictures);
        self.calls.extend(message.calls.into_iter().map(SentCall::from));
        if message.result_of.is_some() || message.text.trim().is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(&message.text);
    }
}

impl SentCall {
    /// Returns the arguments as a JSON object; none if they are something else.
    pub fn input(&self) -> Option<Map<String, Value>> {
        read_input(&self.arguments)
    }
}

/// Returns what is wrong with the calls of a chat for a protocol that has their arguments as objects.
pub fn unreadable_call(chat: &Chat) -> Option<String> {
    let mut calls = chat.messages.iter().flat_map(|message| &message.calls);
    let call = calls.find(|call| read_input(&call.arguments).is_none())?;
    Some(format!("the arguments of the call `{}` are not a JSON object, which it needs", call.id))
}

fn read_input(arguments: &str) -> Option<Map<String, Value>> {
    match arguments.trim() {
        "" => Some(Map::new()),
        arguments => serde_json::from_str(arguments).ok(),
    }
}

impl From<ToolCall> for SentCall {
    fn from(call: ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call;
        let (id, signature) = match id.split_once(BEFORE_SIGNATURE) {
            Some((id, signature)) => (id.to_owned(), Some(signature.to_owned())),
            None => (id, None),
        };
        Self { id, name, arguments, signature }
    }
}

/// Returns the id of a call that takes its signature with it, since clients send nothing back but ids.
pub fn signed(id: &str, signature: &str) -> String {
    format!("{id}{BEFORE_SIGNATURE}{signature}")
}

/// Returns whether an id has nothing before its signature.
pub fn is_unnamed(id: &str) -> bool {
    id.is_empty() || id.starts_with(BEFORE_SIGNATURE)
}

pub fn base64(picture: &Picture) -> String {
    BASE64_STANDARD.encode(&picture.bytes)
}

/// Merges the messages into turns. Vendors refuse empty texts, two turns of the same role, and an answer before the
/// first question, which remains if a long history is cut.
fn turns(messages: Vec<Message>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let said = |message: &Message| {
        let is_more = !message.pictures.is_empty() || !message.calls.is_empty();
        is_more || message.result_of.is_some() || !message.text.trim().is_empty()
    };
    for message in messages.into_iter().filter(said) {
        let assistant = message.role == Role::Assistant;
        let results = result(&message, &turns).into_iter().collect();
        match turns.last_mut() {
            Some(last) if last.assistant == assistant => last.add(message, results),
            None if assistant => {}
            _ => {
                let mut turn = Turn { assistant, ..Turn::default() };
                turn.add(message, results);
                turns.push(turn);
            }
        }
    }
    turns
}

/// Returns what a message says as the result of a call, which the latest call of that id names.
fn result(message: &Message, turns: &[Turn]) -> Option<CallResult> {
    let id = message.result_of.as_ref()?;
    let call_id = id.split(BEFORE_SIGNATURE).next().unwrap_or_default().to_owned();
    let calls = turns.iter().rev().flat_map(|turn| turn.calls.iter().rev());
    let called = calls.into_iter().find(|call| call.id == call_id);
    let name = called.map(|call| call.name.clone()).unwrap_or_default();
    Some(CallResult { call_id, name, text: message.text.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caller, Purpose, Who};

    fn question(messages: Vec<Message>) -> Question {
        let stop = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let chat = Chat {
            messages,
            max_tokens: 0,
            temperature: 0.5,
            stop,
            seed: u64::MAX,
            urgent: true,
            caller: Caller::new(Who::Local, Purpose::Test),
            tries: 1,
            tools: None,
            format: Format::Text,
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

    #[test]
    fn calls_and_their_results_stay_in_their_turns() {
        let call =
            |id: &str| ToolCall { id: id.to_owned(), name: format!("f{id}"), arguments: "{}".to_owned() };
        let calls = Message { calls: vec![call("1"), call("2~sig+/=")], ..Message::assistant("") };
        let result = |id: &str, text: &str| Message { result_of: Some(id.to_owned()), ..Message::user(text) };
        let question = question(vec![
            Message::user("a"),
            calls,
            result("2~sig+/=", ""),
            result("1", "one"),
            Message::user("b"),
        ]);
        let [_, assistant, user] = &question.turns[..] else { panic!("{} turns", question.turns.len()) };
        let sent: Vec<_> =
            assistant.calls.iter().map(|call| (call.id.as_str(), call.signature.as_deref())).collect();
        assert_eq!(sent, [("1", None), ("2", Some("sig+/="))]);
        let results: Vec<_> = user
            .results
            .iter()
            .map(|result| (result.call_id.as_str(), result.name.as_str(), result.text.as_str()))
            .collect();
        assert_eq!(results, [("2", "f2~sig+/=", ""), ("1", "f1", "one")]);
        assert_eq!(user.text, "b");
    }

    #[test]
    fn a_picture_counts_and_needs_no_text() {
        let picture = Picture { media_type: "image/png".to_owned(), bytes: vec![0; 1 << 20].into() };
        let question = question(vec![Message { pictures: vec![picture], ..Message::user("") }]);
        assert_eq!((question.turns.len(), question.tokens), (1, 1000));
    }
}
