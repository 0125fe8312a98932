//! Mailboxes of dovecot, and of a server that is hostile.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use connectors::{ConnectError, Environment, ItemError, Reading, Settings};
use std::process::Command;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use crate::dovecot::Dovecot;
use crate::support::{Opened, open, open_with};
use crate::web::private;

fn mailbox(host: &str, port: u16, mailbox: &str, tls: bool) -> Settings {
    Settings::Imap {
        host: host.to_owned(),
        port,
        username: "ada@example.org".to_owned(),
        mailbox: mailbox.to_owned(),
        tls,
    }
}

async fn open_mailbox(port: u16, name: &str) -> Result<Opened, ConnectError> {
    open_with(&mailbox("127.0.0.1", port, name, false), Some("s3cret"), &private()).await
}

fn mail(subject: &str, body: &str) -> Vec<u8> {
    let head =
        "From: Ada <ada@example.org>\r\nTo: b@example.org\r\nDate: Tue, 17 Nov 2026 07:00:00 +0000\r\n";
    format!("{head}Subject: {subject}\r\n\r\n{body}\r\n").into_bytes()
}

/// A mail with a text, a picture within it, a PDF with an encoded name and a page in quoted-printable.
fn mail_with_attachments(pdf: &[u8]) -> Vec<u8> {
    let packed = STANDARD.encode(pdf).into_bytes();
    let lines: Vec<String> =
        packed.chunks(76).map(|line| String::from_utf8(line.to_vec()).unwrap() + "\r\n").collect();
    let parts = [
        "Content-Type: multipart/alternative; boundary=in\r\n\r\n--in\r\nContent-Type: text/plain\r\n\r\nhello\r\n\
         --in\r\nContent-Type: text/html\r\n\r\n<p>hello\r\n--in--\r\n"
            .to_owned(),
        "Content-Type: image/png; name=logo.png\r\nContent-Disposition: inline\r\n\r\npng\r\n".to_owned(),
        format!(
            "Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\
             Content-Disposition: attachment; filename*=utf-8''R%C3%BCckgabe%2F1.pdf\r\n\r\n{}",
            lines.concat()
        ),
        "Content-Type: text/html; name=\"page.html\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\
         Content-Disposition: attachment\r\n\r\n<p>caf=C3=A9 =\r\n1\r\n"
            .to_owned(),
    ];
    let body: String = parts.iter().map(|part| format!("--out\r\n{part}\r\n")).collect();
    let head = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=out";
    mail(&format!("=?utf-8?Q?Gr=C3=BC=C3=9Fe?= 1/2\r\n{head}"), &format!("{body}--out--\r\n"))
}

#[tokio::test]
async fn mails_and_their_attachments_are_read() {
    let Some(dovecot) = Dovecot::start().await else { return };
    let large = mail("large", &"0123456789\r\n".repeat(60_000));
    let pdf: Vec<u8> = b"%PDF-1.7 ".iter().copied().chain((0..500_000_u32).map(|n| n as u8)).collect();
    let with_attachments = mail_with_attachments(&pdf);
    dovecot.deliver("", [("1", large.clone()), ("2", with_attachments.clone()), ("3", mail("", "x"))]);
    let mut opened = open_mailbox(dovecot.port, "INBOX").await.unwrap();
    let items = opened.list().await.unwrap();
    let validity = items[0].path.split('/').next().unwrap().to_owned();
    let paths: Vec<&str> = items.iter().map(|item| item.path.strip_prefix(&validity).unwrap()).collect();
    assert_eq!(paths, ["/1", "/2", "/2/3", "/2/4", "/3"], "{}", dovecot.log());

    let mut found = Vec::new();
    for item in &items {
        let (state, filename, content) = opened.content(item).await;
        assert_eq!(opened.read(item, &state).await.unwrap().0, Reading::Unchanged);
        found.push((filename, content));
    }
    let names: Vec<&str> = found.iter().map(|(filename, _)| filename.as_str()).collect();
    assert_eq!(names, ["large.eml", "Grüße 1 2.eml", "Rückgabe 1.pdf", "page.html", "mail.eml"]);
    assert!(found[0].1 == large && found[1].1 == with_attachments && found[2].1 == pdf);
    assert_eq!(String::from_utf8_lossy(&found[3].1), "<p>café 1\r\n");
    let is_seen = |file: &std::path::PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.split_once(":2,").is_some_and(|(_, flags)| flags.contains('S'))
    };
    assert!(!dovecot.files().iter().any(is_seen), "no mail is marked as seen");

    // A mail that was deleted is gone; the others keep their paths.
    let smallest = dovecot.files().into_iter().min_by_key(|file| file.metadata().unwrap().len()).unwrap();
    std::fs::remove_file(smallest).unwrap();
    let mut opened = open_mailbox(dovecot.port, "INBOX").await.unwrap();
    let left = opened.list().await.unwrap();
    let gone: Vec<_> = items.iter().filter(|item| !left.contains(item)).collect();
    let [gone] = gone.as_slice() else { panic!("{gone:?}") };
    assert_eq!(opened.read(gone, "").await, Err(ItemError::Item("it is gone".to_owned())));
    let renumbered = connectors::Item { path: "1/1".to_owned(), version: "1/1".to_owned() };
    assert_eq!(opened.read(&renumbered, "").await, Err(ItemError::Item("it is gone".to_owned())));
}

#[tokio::test]
async fn many_mails_are_listed_in_pages_and_another_folder_by_its_name() {
    let Some(dovecot) = Dovecot::start().await else { return };
    let names: Vec<String> = (0..1_500).map(|number| format!("{number:04}")).collect();
    dovecot.deliver("", names.iter().map(|name| (name.as_str(), mail(name, "x"))));
    dovecot.deliver(".Entw&APw-rfe", [("1", mail("draft", "x"))]);
    assert_eq!(open_mailbox(dovecot.port, "INBOX").await.unwrap().list().await.unwrap().len(), 1_500);
    let mut drafts = open_mailbox(dovecot.port, "Entwürfe").await.unwrap();
    let items = drafts.list().await.unwrap();
    assert_eq!(drafts.content(&items[0]).await.1, "draft.eml");

    let missing = open_mailbox(dovecot.port, "missing").await.err().unwrap().message;
    assert!(missing.starts_with("`mailbox` cannot be opened: the mail server refuses: "), "{missing}");
    let wrong = mailbox("127.0.0.1", dovecot.port, "INBOX", false);
    let refused = open_with(&wrong, Some("wrong"), &private()).await.err().unwrap().message;
    assert_eq!(refused, "the mail server does not accept `username` and the password");
    let refused = open(&wrong, &private()).await.err().unwrap().message;
    assert_eq!(refused, "a mailbox needs its password");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused_and_one_that_is_is_not() {
    let Some(dovecot) = Dovecot::start().await else { return };
    dovecot.deliver("", [("1", mail("a", "x"))]);
    let settings = mailbox("localhost", dovecot.tls_port, "INBOX", true);
    let refused = open_with(&settings, Some("s3cret"), &private()).await.err().unwrap().message;
    assert!(refused.starts_with("`host` cannot be reached: invalid peer certificate"), "{refused}");

    // Another process, as the system's certificates are named by its environment.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "imap::a_trusted_certificate_in_another_process", "--ignored", "--nocapture"]);
    command.arg(format!("--skip=port:{}", dovecot.tls_port));
    command.env("SSL_CERT_FILE", dovecot.authority()).env_remove("SSL_CERT_DIR");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("one mail over TLS"), "{said}");
}

#[tokio::test]
#[ignore = "started by `a_certificate_that_is_not_trusted_is_refused_and_one_that_is_is_not`"]
async fn a_trusted_certificate_in_another_process() {
    let port = std::env::args().find_map(|argument| argument.strip_prefix("--skip=port:")?.parse().ok());
    let Some(port) = port else { return };
    let settings = mailbox("localhost", port, "INBOX", true);
    let mut opened = open_with(&settings, Some("s3cret"), &private()).await.unwrap();
    assert_eq!(opened.list().await.unwrap().len(), 1);
    println!("one mail over TLS");
}

#[test]
fn passwords_are_sent_in_plain_text_only_to_this_machine() {
    let check = |host: &str, tls: bool, environment: &Environment| {
        connectors::check(&mailbox(host, 143, "INBOX", tls), environment).map_err(|error| error.message)
    };
    let plain = "`tls` can be false only for a `host` of this machine: the password is sent in plain text";
    assert_eq!(check("imap.example.org", false, &private()), Err(plain.to_owned()));
    assert_eq!(check("10.0.0.1", false, &private()), Err(plain.to_owned()));
    assert_eq!(check("127.0.0.1", false, &private()), Ok(()));
    assert_eq!(check("localhost", false, &private()), Ok(()));
    assert!(check("localhost", true, &Environment::default()).unwrap_err().starts_with("`host` is refused"));
    assert!(check("10.0.0.1", true, &Environment::default()).unwrap_err().starts_with("`host` is refused"));
    assert_eq!(check("imap.example.org", true, &Environment::default()), Ok(()));
    assert!(check("", true, &Environment::default()).is_err());
    assert!(check("a b", true, &Environment::default()).is_err());
}

/// Instead of a structure: the server says nothing about the mail.
const SILENCE: &str = "silence";

/// Serves three mails; the structure of the second is what the test says.
async fn odd_server(structure: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve_odd(socket, structure.clone()));
        }
    });
    port
}

async fn serve_odd(socket: tokio::net::TcpStream, structure: String) {
    let (input, mut output) = socket.into_split();
    output.write_all(b"* OK ready\r\n").await.unwrap();
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let (tag, command) = line.split_once(' ').unwrap();
        let simple = "(\"text\" \"plain\" NIL NIL NIL \"7bit\" 1 1)";
        let answer = match command.split(' ').take(2).collect::<Vec<_>>().join(" ").as_str() {
            "UID SEARCH" => "* SEARCH 1 2 3\r\n".to_owned(),
            "UID FETCH" => {
                let uids = command.split(' ').nth(2).unwrap();
                let structure = |uid: &str| if uid == "2" { structure.clone() } else { simple.to_owned() };
                let fetches = uids
                    .split(',')
                    .filter(|uid| *uid != "2" || structure(uid) != SILENCE)
                    .map(|uid| format!("* {uid} FETCH (UID {uid} BODYSTRUCTURE {})\r\n", structure(uid)));
                fetches.collect()
            }
            other if other.starts_with("EXAMINE") => {
                "* 3 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 4] x\r\n".to_owned()
            }
            _ => String::new(),
        };
        if output.write_all(format!("{answer}{tag} OK done\r\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_mail_with_a_structure_that_is_not_understood_is_listed_without_attachments() {
    for structure in ["(\"text\" oddly 17)", "NIL", "(\"text\" \"plain\")"] {
        let port = odd_server(structure.to_owned()).await;
        let paths = open_mailbox(port, "INBOX").await.unwrap().paths().await;
        assert_eq!(paths, ["7/1", "7/2", "7/3"], "{structure}");
    }
}

#[tokio::test]
async fn a_mail_that_is_there_and_is_not_described_fails_the_listing() {
    let port = odd_server(SILENCE.to_owned()).await;
    let failed = open_mailbox(port, "INBOX").await.unwrap().list().await.unwrap_err();
    assert_eq!(failed.message, "the mail server has the mail 2 and says nothing of it");
}

#[tokio::test]
async fn a_hostile_server_does_not_end_the_process() {
    let many = "(".repeat(1_000_000);
    // Brackets without end, in plain sight and where they look like a text, and more bytes than can be kept.
    let harmless =
        [many.clone(), format!("(\"a) BODYSTRUCTURE {many}\" x)"), format!("NIL X a{{9}}\r\n{many}")];
    for structure in harmless {
        let port = odd_server(structure).await;
        let refused = open_mailbox(port, "INBOX").await.unwrap().list().await;
        let is_unread = |error: ConnectError| error.message.ends_with("says nothing of it");
        assert!(refused.map_or_else(is_unread, |items| items.len() == 3));
    }
    for structure in [format!("({{20000000}}\r\n{}", "x".repeat(20_000_000)), "\"x".repeat(10_000_000)] {
        let port = odd_server(structure).await;
        let refused = open_mailbox(port, "INBOX").await.unwrap().list().await.unwrap_err().message;
        assert!(refused.ends_with("the server sends too much"), "{refused}");
    }
    let port = odd_server("\"no end".to_owned()).await;
    let refused = open_mailbox(port, "INBOX").await.unwrap().list().await.unwrap_err().message;
    assert!(refused.ends_with("its answer has a quote without an end"), "{refused}");
}
