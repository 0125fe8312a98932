//! A folder of a mailbox: each mail is an item, and each document that is attached to one.

mod answer;
mod parts;
mod session;
mod wire;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::collections::VecDeque;

use crate::{
    ConnectError, Connector, Count, Environment, Found, Item, ItemError, PAGE, Reading, Settings, Sink,
    limited, network,
};
use answer::{Answer, Token};
use parts::Mime;
use session::{Account, Mailbox, value};
use wire::Failure;

/// The bytes of a mail that are fetched at once.
const PIECE: usize = 256 * 1024;
/// The mails whose structures are fetched at once. With their attachments they must fit into a page.
const BATCH: usize = 200;
/// The numbers that are searched at once, at first and at most. Numbers of deleted mails are not used again, so there
/// may be few mails among many numbers.
const FIRST_WINDOW: u32 = 10_000;
const LARGEST_WINDOW: u32 = 1_000_000;

pub(crate) struct Imap {
    mailbox: Mailbox,
    /// Numbers of mails that were found and are not listed yet.
    found: VecDeque<u32>,
    listed: VecDeque<Item>,
    count: Count,
    next_search: u32,
    window: u32,
}

pub(crate) fn check(settings: &Settings, environment: &Environment) -> Result<(), ConnectError> {
    let Settings::Imap { host, port, username, mailbox, tls } = settings else { return Ok(()) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || !host.chars().all(is_name) {
        return Err(ConnectError::new("`host` is not a host, such as `imap.example.org`"));
    }
    if *port == 0 {
        return Err(ConnectError::new("`port` is 0: expected 1 to 65535"));
    }
    for (field, value) in [("username", username), ("mailbox", mailbox)] {
        if value.is_empty() || value.contains(char::is_control) {
            return Err(ConnectError::new(format!("`{field}` is empty or has control characters")));
        }
    }
    let is_this_machine = || match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    };
    if !tls && !is_this_machine() {
        return Err(session::without_tls());
    }
    network::check_host_name(host, *port, environment)
        .map_err(|reason| ConnectError::new(format!("`host` is refused: {reason}")))
}

impl Imap {
    pub async fn open(
        settings: &Settings,
        secret: Option<&str>,
        environment: &Environment,
    ) -> Result<Imap, ConnectError> {
        check(settings, environment)?;
        let Settings::Imap { host, port, username, mailbox, tls } = settings else {
            return Err(ConnectError::new("these are no settings of a mailbox"));
        };
        let Some(password) = secret.filter(|secret| !secret.is_empty()) else {
            return Err(ConnectError::new("a mailbox needs its password"));
        };
        let account = Account {
            host: host.clone(),
            port: *port,
            username: username.clone(),
            password: password.to_owned(),
            mailbox: mailbox.clone(),
            tls: *tls,
        };
        Ok(Imap {
            mailbox: Mailbox::open(&account, environment).await?,
            found: VecDeque::new(),
            listed: VecDeque::new(),
            count: Count::default(),
            next_search: 1,
            window: FIRST_WINDOW,
        })
    }

    async fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        loop {
            if !self.listed.is_empty() {
                let count = self.listed.len().min(PAGE);
                return Ok(Some(self.listed.drain(..count).collect()));
            }
            if self.found.is_empty() && !self.search().await? {
                return Ok(None);
            }
            let count = self.found.len().min(BATCH);
            let uids: Vec<u32> = self.found.drain(..count).collect();
            self.list_mails(&uids).await?;
        }
    }

    /// Looks for the next mails; returns whether there may be more.
    async fn search(&mut self) -> Result<bool, ConnectError> {
        let first = self.next_search;
        if first >= self.mailbox.next_uid {
            return Ok(false);
        }
        let last = first.saturating_add(self.window - 1).min(self.mailbox.next_uid - 1);
        let found = self.mailbox.search(first, last).await;
        let found = found.map_err(|failure| ConnectError::new(failure.message()))?;
        self.window = match found.len() {
            0..1_000 => self.window.saturating_mul(2).min(LARGEST_WINDOW),
            _ => FIRST_WINDOW,
        };
        self.count.add(found.len())?;
        self.found.extend(found);
        self.next_search = last.saturating_add(1);
        Ok(true)
    }

    async fn list_mails(&mut self, uids: &[u32]) -> Result<(), ConnectError> {
        let mails = self.mailbox.fetch(uids, "BODYSTRUCTURE").await;
        let mut mails = mails.map_err(|failure| ConnectError::new(failure.message()))?;
        mails.dedup_by_key(|(uid, _)| *uid);
        let is_unanswered = |uid: &&u32| !mails.iter().any(|(answered, _)| answered == *uid);
        let unanswered: Vec<u32> = uids.iter().filter(is_unanswered).copied().collect();
        self.check_deleted(&unanswered).await?;
        for (uid, answer) in mails {
            self.push(uid.to_string());
            let structure = value(&answer, "BODYSTRUCTURE").unwrap_or_default();
            for part in parts::attachments(structure) {
                self.push(format!("{uid}/{part}"));
            }
        }
        Ok(())
    }

    /// Fails if mails that the server has said nothing about are still there: they would be taken for deleted.
    async fn check_deleted(&mut self, uids: &[u32]) -> Result<(), ConnectError> {
        let (Some(first), Some(last)) = (uids.first(), uids.last()) else { return Ok(()) };
        let found = self.mailbox.search(*first, *last).await;
        let found = found.map_err(|failure| ConnectError::new(failure.message()))?;
        match uids.iter().find(|uid| found.contains(uid)) {
            Some(uid) => {
                Err(ConnectError::new(format!("the mail server has the mail {uid} and says nothing of it")))
            }
            None => Ok(()),
        }
    }

    fn push(&mut self, name: String) {
        let path = format!("{}/{name}", self.mailbox.validity);
        self.listed.push_back(Item { version: path.clone(), path });
    }

    async fn read_item(
        &mut self,
        item: &Item,
        known: &str,
        sink: &mut dyn Sink,
    ) -> Result<Reading, ItemError> {
        if known == item.version {
            return Ok(Reading::Unchanged);
        }
        let mut parts = item.path.splitn(3, '/');
        let (validity, uid, part) = (number(parts.next()), number(parts.next()), parts.next());
        if validity != Some(self.mailbox.validity) {
            return Err(gone());
        }
        let uid = uid.ok_or_else(gone)?;
        let filename = match part {
            None => self.read_mail(uid, sink).await?,
            Some(part) => self.read_attachment(uid, part, sink).await?,
        };
        Ok(Reading::Read(Found { state: item.version.clone(), filename, ..Found::default() }))
    }

    async fn read_mail(&mut self, uid: u32, sink: &mut dyn Sink) -> Result<String, ItemError> {
        let mut filename = String::new();
        let mut offset = 0;
        loop {
            let piece = self.fetch(uid, "", offset).await?;
            if offset == 0 {
                let subject = Mime::parse(&piece).subject.unwrap_or_default();
                let subject: String = subject.chars().take(100).collect();
                filename = format!("{}.eml", safe_name(&subject, "mail"));
            }
            sink.write(&piece)?;
            if piece.len() < PIECE {
                return Ok(filename);
            }
            offset += piece.len();
        }
    }

    async fn read_attachment(
        &mut self,
        uid: u32,
        part: &str,
        sink: &mut dyn Sink,
    ) -> Result<String, ItemError> {
        if part.split('.').any(|number| number.parse::<u32>().is_err()) {
            return Err(gone());
        }
        let header = self.fetch(uid, &format!("{part}.MIME"), 0).await?;
        let Mime { filename, mut transfer, .. } = Mime::parse(&header);
        let mut offset = 0;
        loop {
            let piece = self.fetch(uid, part, offset).await?;
            let is_last = piece.len() < PIECE;
            sink.write(&transfer.unpack(&piece, is_last).map_err(ItemError::Item)?)?;
            if is_last {
                return Ok(safe_name(&filename.unwrap_or_default(), "attachment"));
            }
            offset += piece.len();
        }
    }

    /// Fetches a piece of a mail, or of a part of it, without marking the mail as seen.
    async fn fetch(&mut self, uid: u32, section: &str, offset: usize) -> Result<Vec<u8>, ItemError> {
        let what = format!("BODY.PEEK[{section}]<{offset}.{PIECE}>");
        let answers = match self.mailbox.fetch(&[uid], &what).await {
            Ok(answers) => answers,
            Err(Failure::Refused(reason)) => return Err(ItemError::Item(Failure::Refused(reason).message())),
            Err(failure) => return Err(ItemError::Place(failure.message())),
        };
        let name = format!("BODY[{section}]");
        let mut pieces = answers.into_iter().filter_map(|(_, answer)| piece_of(&answer, &name));
        pieces.next().ok_or_else(gone)
    }
}

/// Returns the text of a value; none if the server says `NIL`.
fn piece_of(answer: &Answer, name: &str) -> Option<Vec<u8>> {
    match value(answer, name)? {
        [Token::Text(text)] => Some(text.clone()),
        _ => None,
    }
}

fn gone() -> ItemError {
    ItemError::Item("it is gone".to_owned())
}

impl Connector for Imap {
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>> {
        self.next_page().boxed()
    }

    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>> {
        limited(self.read_item(item, known, sink)).boxed()
    }
}

fn number(text: Option<&str>) -> Option<u32> {
    text?.parse().ok()
}

/// Returns a name without what the names of files do not have.
fn safe_name(name: &str, otherwise: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_control() || "/\\".contains(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let words = words.join(" ");
    let name = words.trim_start_matches('.');
    // The extension is at the end.
    let too_many = name.chars().count().saturating_sub(120);
    let short: String = name.chars().skip(too_many).collect();
    if short.is_empty() { otherwise.to_owned() } else { short }
}
