//! A folder of a mailbox: each mail is an item, and each document that is attached to one.

mod parts;
mod session;
mod wire;

use async_imap::imap_proto::{MessageSection, SectionPath};
use async_imap::types::Fetch;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::collections::VecDeque;

use crate::{
    ConnectError, Connector, Environment, Found, Item, ItemError, PAGE, Reading, Settings, Sink, network,
};
use parts::Mime;
use session::{Account, Failure, Mailbox};

/// The bytes of a mail that are fetched at once.
const PIECE: usize = 256 * 1024;
/// The mails whose structures are fetched at once. With their attachments they must fit into a page.
const BATCH: usize = 200;
/// The numbers that are searched at once, at first and at most. Numbers of deleted mails are not used again, so there
/// may be few mails among many numbers.
const FIRST_WINDOW: u32 = 10_000;
const LARGEST_WINDOW: u32 = 10_000_000;

pub(crate) struct Imap {
    account: Account,
    environment: Environment,
    mailbox: Mailbox,
    /// Numbers of mails that were found and are not listed yet.
    found: VecDeque<u32>,
    listed: VecDeque<Item>,
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
    network::check_host_name(host, environment.allow_private_addresses)
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
            account,
            environment: environment.clone(),
            found: VecDeque::new(),
            listed: VecDeque::new(),
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
            self.list_mails(uids).await?;
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
        self.found.extend(found);
        self.next_search = last.saturating_add(1);
        Ok(true)
    }

    /// Lists mails with their attachments. Of a mail whose structure the parser does not understand, only the mail is
    /// listed; it is found by halves, as each attempt costs a connection.
    async fn list_mails(&mut self, uids: Vec<u32>) -> Result<(), ConnectError> {
        let mut batches = vec![uids];
        while let Some(mut uids) = batches.pop() {
            match self.mailbox.fetch(&uids, "(UID BODYSTRUCTURE)").await {
                Ok(mails) => {
                    let mut mails: Vec<&Fetch> = mails.iter().filter(|mail| mail.uid.is_some()).collect();
                    mails.sort_by_key(|mail| mail.uid);
                    mails.dedup_by_key(|mail| mail.uid);
                    mails.into_iter().for_each(|mail| self.list_mail(mail));
                }
                Err(Failure::Unreadable) => {
                    self.connect_again().await?;
                    if uids.len() > 1 {
                        let half = uids.split_off(uids.len() / 2);
                        batches.extend([half, uids]);
                    } else {
                        uids.iter().for_each(|uid| self.push(uid.to_string()));
                    }
                }
                Err(failure) => return Err(ConnectError::new(failure.message())),
            }
        }
        Ok(())
    }

    fn list_mail(&mut self, mail: &Fetch) {
        let uid = mail.uid.unwrap_or_default();
        self.push(uid.to_string());
        for part in mail.bodystructure().map(parts::attachments).unwrap_or_default() {
            self.push(format!("{uid}/{part}"));
        }
    }

    fn push(&mut self, name: String) {
        let path = format!("{}/{name}", self.mailbox.validity);
        self.listed.push_back(Item { version: path.clone(), path });
    }

    async fn connect_again(&mut self) -> Result<(), ConnectError> {
        let validity = self.mailbox.validity;
        self.mailbox = Mailbox::open(&self.account, &self.environment).await?;
        if self.mailbox.validity != validity {
            return Err(ConnectError::new(
                "the mail server has numbered its mails anew: they are listed again",
            ));
        }
        Ok(())
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
        let gone = || ItemError::Item("it is gone".to_owned());
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
            let what = format!("(UID BODY.PEEK[]<{offset}.{PIECE}>)");
            let answers = self.fetch(uid, &what).await?;
            let piece = answers.iter().find_map(Fetch::body);
            let piece = piece.ok_or_else(|| ItemError::Item("it is gone".to_owned()))?;
            if offset == 0 {
                let subject = Mime::parse(piece).subject.unwrap_or_default();
                let subject: String = subject.chars().take(100).collect();
                filename = format!("{}.eml", safe_name(&subject, "mail"));
            }
            sink.write(piece)?;
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
        let numbers: Option<Vec<u32>> = part.split('.').map(|number| number.parse().ok()).collect();
        let gone = || ItemError::Item("it is gone".to_owned());
        let numbers = numbers.ok_or_else(gone)?;
        let header = SectionPath::Part(numbers.clone(), Some(MessageSection::Mime));
        let answers = self.fetch(uid, &format!("(UID BODY.PEEK[{part}.MIME])")).await?;
        let mime = answers.iter().find_map(|answer| answer.section(&header));
        let Mime { filename, mut transfer, .. } = Mime::parse(mime.ok_or_else(gone)?);
        let content = SectionPath::Part(numbers, None);
        let mut offset = 0;
        loop {
            let what = format!("(UID BODY.PEEK[{part}]<{offset}.{PIECE}>)");
            let answers = self.fetch(uid, &what).await?;
            let piece = answers.iter().find_map(|answer| answer.section(&content)).ok_or_else(gone)?;
            let is_last = piece.len() < PIECE;
            sink.write(&transfer.unpack(piece, is_last).map_err(ItemError::Item)?)?;
            if is_last {
                return Ok(safe_name(&filename.unwrap_or_default(), "attachment"));
            }
            offset += piece.len();
        }
    }

    async fn fetch(&mut self, uid: u32, what: &str) -> Result<Vec<Fetch>, ItemError> {
        let fetched = self.mailbox.fetch(&[uid], what).await;
        let answers = match fetched {
            Ok(answers) => answers,
            Err(Failure::Refused(reason)) => {
                return Err(ItemError::Item(Failure::Refused(reason).message()));
            }
            Err(failure) => {
                // Whatever is wrong with this connection, the next item gets another one.
                let again = self.connect_again().await;
                let message = again.err().map_or_else(|| failure.message(), |error| error.message);
                return Err(ItemError::Place(message));
            }
        };
        Ok(answers.into_iter().filter(|answer| answer.uid == Some(uid)).collect())
    }
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
        self.read_item(item, known, sink).boxed()
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
