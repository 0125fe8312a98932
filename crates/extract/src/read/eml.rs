//! EML: the subject as title, sender, recipients and date, the body, and the attachments that are text.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use super::{html, plain};
use crate::ExtractError;
use crate::document::Builder;

pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let message = MessageParser::default().parse(bytes);
    let message = message.ok_or_else(|| ExtractError::damaged(builder.kind(), "it has no headers"))?;
    builder.title(message.subject().unwrap_or_default());
    builder.author(&people(message.from()));
    builder.lines(&heads(&message))?;
    body(&message, builder)?;
    for part in message.attachments() {
        attachment(part, builder)?;
    }
    Ok(())
}

/// Returns whether a text begins with the headers of a message.
pub(crate) fn looks_like(head: &str) -> bool {
    let is_header = |line: &str| {
        let name = line.split_once(':').map_or("", |(name, _)| name);
        !name.is_empty() && name.len() < 60 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let headers: Vec<&str> = head.lines().take_while(|line| !line.is_empty()).collect();
    let all_are = headers.iter().all(|line| line.starts_with([' ', '\t']) || is_header(line));
    let has = |name: &str| headers.iter().any(|line| line.to_ascii_lowercase().starts_with(name));
    all_are
        && has("from:")
        && (has("received:") || has("message-id:") || has("mime-version:") || (has("to:") && has("subject:")))
}

fn heads(message: &Message) -> String {
    let date = message.date().map(|date| date.to_rfc3339().replace('T', " ")).unwrap_or_default();
    let names = message.attachments().filter_map(MimeHeaders::attachment_name).collect::<Vec<_>>().join(", ");
    let heads = [
        ("From", people(message.from())),
        ("To", people(message.to())),
        ("Cc", people(message.cc())),
        ("Date", date),
        ("Attachments", names),
    ];
    let heads = heads.iter().filter(|(_, value)| !value.is_empty());
    heads.map(|(name, value)| format!("{name}: {value}\n")).collect()
}

fn people(address: Option<&Address>) -> String {
    let people =
        address.into_iter().flat_map(Address::iter).map(|person| match (person.name(), person.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (name, address) => name.or(address).unwrap_or_default().to_owned(),
        });
    people.collect::<Vec<_>>().join(", ")
}

/// Reads the body. If the message has both forms, only the plain text is read; if not, both lists name the same
/// parts.
fn body(message: &Message, builder: &mut Builder) -> Result<(), ExtractError> {
    for part in message.text_body.iter().filter_map(|id| message.part(*id)) {
        match &part.body {
            PartType::Text(text) => plain::read(text, builder)?,
            PartType::Html(text) => html::read_text(text, builder)?,
            _ => {}
        }
    }
    Ok(())
}

fn attachment(part: &MessagePart, builder: &mut Builder) -> Result<(), ExtractError> {
    let PartType::Text(text) = &part.body else { return Ok(()) };
    builder.heading(1, part.attachment_name().unwrap_or("attachment"))?;
    plain::read(text, builder)
}
