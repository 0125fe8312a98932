//! Debian's dovecot, if it is installed and the tests run as root, with mails in a temporary folder.

use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Mails belong to this user: dovecot does not read those of root.
const USER: u32 = 65_534;

pub struct Dovecot {
    folder: TempDir,
    pub port: u16,
    pub tls_port: u16,
    child: Child,
}

impl Dovecot {
    /// Returns none if it cannot be started.
    pub async fn start() -> Option<Dovecot> {
        if !std::path::Path::new("/usr/sbin/dovecot").exists() || !rustix::process::getuid().is_root() {
            println!("skipped: dovecot is not installed, or this is not root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (port, tls_port) = (free(), free());
        make_certificates(folder.path());
        let path = folder.path().display();
        let config = format!(
            "protocols = imap\nlisten = 127.0.0.1\nbase_dir = {path}/run\nstate_dir = {path}/state\n\
             log_path = {path}/log\ninstance_name = test-{port}\ndisable_plaintext_auth = no\n\
             ssl = yes\nssl_cert = <{path}/server.pem\nssl_key = <{path}/server.key\n\
             passdb {{\n driver = static\n args = password=s3cret\n}}\n\
             userdb {{\n driver = static\n args = uid={USER} gid={USER} home={path}/home\n}}\n\
             mail_location = maildir:{path}/mail\nfirst_valid_gid = 0\n\
             service imap-login {{\n chroot =\n inet_listener imap {{\n port = {port}\n }}\n\
             inet_listener imaps {{\n port = {tls_port}\n ssl = yes\n }}\n}}\n\
             service anvil {{\n chroot =\n}}\n"
        );
        std::fs::write(folder.path().join("dovecot.conf"), config).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for mailbox in ["mail", "mail/.Entw&APw-rfe"] {
            for part in ["cur", "new", "tmp"] {
                std::fs::create_dir_all(folder.path().join(mailbox).join(part)).unwrap();
            }
        }
        let config = folder.path().join("dovecot.conf");
        let mut command = Command::new("/usr/sbin/dovecot");
        let child = command.arg("-F").arg("-c").arg(config).stderr(Stdio::null()).spawn().unwrap();
        let dovecot = Dovecot { folder, port, tls_port, child };
        dovecot.give_away();
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Some(dovecot);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("dovecot does not answer: {}", dovecot.log());
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The file of the authority that has signed the server's certificate.
    pub fn authority(&self) -> std::path::PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Delivers mails into a folder of the mailbox; empty for the inbox.
    pub fn deliver<'a>(&self, mailbox: &str, mails: impl IntoIterator<Item = (&'a str, Vec<u8>)>) {
        for (name, mail) in mails {
            std::fs::write(self.folder.path().join("mail").join(mailbox).join("new").join(name), mail)
                .unwrap();
        }
        self.give_away();
    }

    /// Returns the files of the inbox, with the flags that dovecot adds to their names.
    pub fn files(&self) -> Vec<std::path::PathBuf> {
        let folders = ["cur", "new"].map(|part| self.folder.path().join("mail").join(part));
        folders
            .into_iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    fn give_away(&self) {
        let owner = format!("{USER}:{USER}");
        let status = Command::new("chown").args(["-R", &owner]).arg(self.folder.path().join("mail")).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        if let Some(id) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// Makes an authority, and a certificate for `localhost` that it has signed.
fn make_certificates(folder: &std::path::Path) {
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
        -subj /CN=authority -keyout authority.key -out authority.pem && \
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
        -keyout server.key -out server.csr && \
        printf 'subjectAltName=DNS:localhost\\nextendedKeyUsage=serverAuth\\n' > extensions && \
        openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \
        -extfile extensions -out server.pem";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
