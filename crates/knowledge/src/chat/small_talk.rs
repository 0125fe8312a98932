//! Answers greetings, thanks and questions about the assistant itself, which no document is needed for.

const ABOUT: &str = "I am Stoa's assistant. I answer questions from your documents and cite the passages that I used; \
                     what they do not say, I do not know. I can also summarise a document, compare two things, and list \
                     next steps or open points.";

/// A longer text is a question, however it starts.
const MOST_WORDS: usize = 6;

#[rustfmt::skip]
const GREETINGS: [&str; 16] = [
    "hi", "hello", "hey", "hi there", "hello there", "good morning", "good afternoon", "good evening", "greetings",
    "hallo", "guten tag", "guten morgen", "moin", "bonjour", "hola", "ciao",
];
#[rustfmt::skip]
const THANKS: [&str; 13] = [
    "thanks", "thank you", "thanks a lot", "thank you very much", "many thanks", "thx", "great thanks", "ok thanks",
    "danke", "vielen dank", "merci", "gracias", "cheers",
];
#[rustfmt::skip]
const FAREWELLS: [&str; 6] = ["bye", "goodbye", "see you", "tschüss", "auf wiedersehen", "good night"];
#[rustfmt::skip]
const ABOUT_ITSELF: [&str; 15] = [
    "who are you", "what are you", "what can you do", "what can you do for me", "how can you help",
    "how can you help me", "what is your name", "are you a bot", "are you an ai", "are you human", "help",
    "what is this", "what do you do", "wer bist du", "was kannst du",
];
const HOW_ARE_YOU: [&str; 4] = ["how are you", "how are you doing", "how do you do", "wie geht es dir"];

/// Returns the answer to what needs no document.
pub fn reply(text: &str) -> Option<&'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.len() > MOST_WORDS {
        return None;
    }
    let said = words.join(" ");
    let is = |known: &[&str]| known.contains(&said.as_str());
    if is(&GREETINGS) {
        Some("Hello! Ask me anything about your documents.")
    } else if is(&THANKS) {
        Some("You are welcome.")
    } else if is(&FAREWELLS) {
        Some("Goodbye!")
    } else if is(&HOW_ARE_YOU) {
        Some("All is well here, thank you. What would you like to know from your documents?")
    } else if is(&ABOUT_ITSELF) {
        Some(ABOUT)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_talk_is_answered_without_documents() {
        assert!(reply("Hello!").is_some());
        assert!(reply("Thanks a lot.").is_some());
        assert_eq!(reply("What can you do?"), Some(ABOUT));
        assert!(reply("Hello World program in C").is_none());
        assert!(reply("How are you supposed to replace the seal of P-204?").is_none());
        assert!(reply("").is_none());
    }
}
