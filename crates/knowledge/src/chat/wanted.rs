//! The kind of thing that a question asks for, and whether a text has one, by lists of words.

/// What a question asks for, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Number,
    Date,
    Price,
    Person,
    Reason,
    Anything,
}

impl Wanted {
    /// Finds it in a question in lower case between blanks.
    pub fn of(lower: &str) -> Self {
        if has(lower, ASKS_PRICE) {
            Self::Price
        } else if has(lower, ASKS_NUMBER) || asks_figure(lower) {
            Self::Number
        } else if has(lower, ASKS_DATE) {
            Self::Date
        } else if has(lower, &[" who ", " whose ", " wer ", " wessen "]) {
            Self::Person
        } else if has(lower, &[" why ", " warum ", " wieso ", " weshalb "]) {
            Self::Reason
        } else {
            Self::Anything
        }
    }

    /// Returns whether a text has a thing of this kind. A person is known by a name that the question does not have.
    pub fn is_in(self, text: &str) -> bool {
        let lower = in_blanks(text);
        match self {
            Self::Anything | Self::Person => true,
            Self::Number => Self::has_number(text) || has(&lower, FREQUENCIES),
            Self::Date => has_digit(text) || has(&lower, TIMES),
            // "Low cost" is none.
            Self::Price => {
                let mut words = lower.split(|c: char| !c.is_alphanumeric());
                has_sum(text)
                    || has(&lower, FREE)
                    || words.any(|word| PRICES.contains(&word)) && Self::has_number(text)
            }
            Self::Reason => has(&lower, REASONS),
        }
    }

    /// Returns whether a text has a number, in digits or in words. That of a section ("2.3. Members") is none.
    pub fn has_number(text: &str) -> bool {
        let is_of_section = |c: char| c.is_ascii_digit() || c == '.';
        let first = text.split_whitespace().next().unwrap_or_default();
        let is_section = first.ends_with('.') && first.chars().all(is_of_section);
        let text = if is_section { text.trim_start().trim_start_matches(is_of_section) } else { text };
        has_digit(text) || has(&in_blanks(text), NUMBER_WORDS)
    }
}

/// Returns whether a question asks how something is done.
pub fn wants_steps(lower: &str) -> bool {
    has(lower, ASKS_HOW)
}

/// Returns whether a question asks for all of several things.
pub fn wants_all(lower: &str) -> bool {
    has(lower, ASKS_ALL) || asks_which_are(lower)
}

/// Returns whether a text says how something is done.
pub fn instructs(text: &str) -> bool {
    let lower = in_blanks(text);
    let first = lower.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty());
    has(&lower, INSTRUCTS) || first.is_some_and(|first| IMPERATIVES.contains(&first))
}

/// Returns a text in lower case between blanks, as words are looked for in it.
pub fn in_blanks(text: &str) -> String {
    format!(" {} ", text.to_lowercase())
}

/// Returns whether a number begins somewhere: "v2" and "$2" have one, "MP3" has none.
fn has_digit(text: &str) -> bool {
    let mut letters = 0;
    text.chars().any(|c| {
        let is_digit = c.is_ascii_digit();
        letters = if c.is_ascii_alphabetic() || is_digit && letters > 0 { letters + 1 } else { 0 };
        is_digit && letters <= 2
    })
}

/// Returns whether a text has a number with the sign of a currency: "$20", "20 €". A "$" alone may begin a command.
fn has_sum(text: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.match_indices(['€', '$', '£', '¥']).any(|(at, sign)| {
        let before = text[..at].trim_end().chars().next_back();
        let after = text[at + sign.len()..].trim_start().chars().next();
        is_digit(after) || sign != "$" && is_digit(before)
    })
}

/// Returns whether a question asks for something that is written in digits: "which TCP port".
fn asks_figure(lower: &str) -> bool {
    let Some((_, after)) = [" which ", " what "].iter().find_map(|start| lower.split_once(start)) else {
        return false;
    };
    let words = after.split(' ').skip_while(|word| ["is", "was", "are", "were", "the"].contains(word));
    words.take(3).take_while(|word| !ENDS_THING.contains(word)).any(|word| FIGURES.contains(&word))
}

/// Returns whether it asks for several things: "which audio plugins are recommended", "what three kinds of input".
fn asks_which_are(lower: &str) -> bool {
    let after = [" which ", " what "].iter().find_map(|start| lower.split_once(start));
    let words: Vec<&str> = after.map_or_else(Vec::new, |(_, after)| after.split(' ').take(5).collect());
    let is_plural =
        |word: &str| word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    let is_several = |pair: &[&str]| is_plural(pair[0]) && SEVERAL_DO.contains(&pair[1]);
    words.first().is_some_and(|first| NUMBER_WORDS.contains(&format!(" {first} ").as_str()))
        || words.windows(2).any(is_several)
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

#[rustfmt::skip]
const ASKS_PRICE: &[&str] = &[
    " cost ", " cost?", " costs ", " price ", " price?", " paid ", " paid?", " salary", " fee ", " fee?", " kostet", " preis ",
];
#[rustfmt::skip]
const ASKS_NUMBER: &[&str] = &[
    " how many ", " how much ", " how long ", " how often ", " how large ", " how big ", " how far ", " how fast ",
    " how tall ", " how high ", " how old ", " how heavy ", " how likely ", " wie viel", " wie lange ", " wie oft ",
    " wie groß ", " wie hoch ", " what percentage ", " prozent ",
];
#[rustfmt::skip]
const ASKS_DATE: &[&str] = &[
    " what year ", " which year ", " what date ", " which date ", " which day ", " what day ", " which month ",
    " what month ", " wann ", " in welchem jahr",
];
#[rustfmt::skip]
const ASKS_HOW: &[&str] = &[
    " how do ", " how can ", " how to ", " how does one ", " steps ", " wie kann ", " wie ",
];
const ASKS_ALL: &[&str] = &[" ways ", " what are ", " which are ", " wie "];
const SEVERAL_DO: &[&str] = &["are", "were", "can", "may", "must", "do", "does", "did", "have"];
#[rustfmt::skip]
const NUMBER_WORDS: &[&str] = &[
    " two ", " three ", " four ", " five ", " six ", " seven ", " eight ", " nine ", " ten ", " twelve ", " dozen",
    " hundred", " thousand", " million", " none ", " zwei ", " drei ", " vier ", " zehn ",
];
#[rustfmt::skip]
const FREQUENCIES: &[&str] = &[
    " one ", " half ", " once ", " twice ", " always ", " never ", " no ", " every ", " daily", " weekly", " monthly",
];
#[rustfmt::skip]
const TIMES: &[&str] = &[
    "january", "february", "march", "april", " may ", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", " today", " after ",
    " before ", " until ", " once ", " when ", " during ", " as soon ",
];
#[rustfmt::skip]
const PRICES: &[&str] = &[
    "cost", "costs", "price", "prices", "priced", "euro", "euros", "eur", "dollar", "dollars", "usd", "pound", "pounds",
    "paid", "pay", "pays", "salary", "fee", "fees", "cent", "cents", "kostet", "kosten", "preis",
];
const FREE: &[&str] = &[" free", " no charge", " no fee", " nothing", "kostenlos"];
#[rustfmt::skip]
const REASONS: &[&str] = &[
    "because", " since ", " due to ", " so that ", " in order to ", " therefore", " reason", " thus", " hence", " as ",
    " to ", " for ", " otherwise", " avoid", " prevent", " weil ", " damit ", " denn ", " cause", " if ", " would ",
];
#[rustfmt::skip]
const INSTRUCTS: &[&str] = &[
    " you can ", " you may ", " if you want ", " use the ", " can be ", " by using ", " by setting ",
    " by typing ", " by adding ", " du kannst ", " sie können ", " kann man ",
];
/// An instruction begins so.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "to", "use", "select", "click", "run", "type", "press", "set", "open", "choose", "create", "add", "go", "enter", "start",
    "install", "call", "pass", "put", "make",
];

#[rustfmt::skip]
const FIGURES: &[&str] = &[
    "port", "percentage", "frequency", "voltage", "temperature", "speed", "weight", "distance", "height", "decimal", "version",
    "rate",
];

/// Words before which the thing that is counted has been said.
#[rustfmt::skip]
pub const ENDS_THING: &[&str] = &[
    "of", "does", "do", "did", "is", "are", "was", "were", "can", "may", "must", "should", "has", "have", "had", "in",
    "per", "will", "at", "on", "for", "to", "there",
];

#[cfg(test)]
mod tests {
    use super::instructs;

    #[test]
    fn an_instruction_is_known_by_its_first_word_or_by_how_it_goes_on() {
        for text in ["Open the file.", "1. Press Start.", "A module can be cloned.", "With it you may go on."]
        {
            assert!(instructs(text), "{text}");
        }
        for text in ["The name of a module is kept.", "Opening takes a minute.", "", "42"] {
            assert!(!instructs(text), "{text}");
        }
    }
}
