//! Secrets: those that are set, and one that is generated at the first start and kept in the data folder, readable by its
//! owner only.

use super::Config;
use base::token::Tokens;
use base::{Clock, Random};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const SHORTEST: usize = 32;

/// Parses secrets, one per line. The first signs, all verify, so that a secret can be replaced while tokens of the old one
/// are in use.
pub fn parse(text: &str) -> Result<Vec<String>, String> {
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
    let several = lines.len() > 1;
    let secrets = lines.into_iter().enumerate().map(|(index, line)| match line.len() {
        SHORTEST.. => Ok(line.to_owned()),
        short if several => {
            Err(format!("{short} bytes in line {} are too short: expected at least {SHORTEST}", index + 1))
        }
        short => Err(format!("{short} bytes are too short: expected at least {SHORTEST}")),
    });
    secrets.collect()
}

impl Config {
    /// Returns the tokens of these secrets: the first signs, all verify.
    pub fn tokens(&self, secrets: &[String], clock: &Clock) -> Tokens {
        let (first, older) = match secrets {
            [first, older @ ..] => (first.as_str(), older),
            [] => ("", secrets),
        };
        let tokens = Tokens::new(first.as_bytes(), &self.jwt_issuer, &self.jwt_audience, clock.clone());
        tokens.accepting(older)
    }
}

/// What the file `secrets.toml` holds.
pub struct Secrets {
    pub jwt_secrets: Vec<String>,
}

impl Secrets {
    /// Reads the file, or creates it. Processes that start at the same time on one folder all get the same secret.
    pub fn load_or_create(data_dir: &Path, random: &Random) -> io::Result<Self> {
        let path = data_dir.join("secrets.toml");
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_whole(data_dir, &path, random)?;
                Self::parse(&fs::read_to_string(&path)?, &path)
            }
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str, path: &Path) -> io::Result<Self> {
        let table = text.parse::<toml::Table>().ok();
        let secret = table.as_ref().and_then(|table| table.get("jwt_secret")?.as_str());
        match secret.and_then(|secret| parse(secret).ok()).filter(|secrets| !secrets.is_empty()) {
            Some(jwt_secrets) => Ok(Self { jwt_secrets }),
            None => {
                let shown = path.display();
                Err(io::Error::other(format!(
                    "{shown} holds no `jwt_secret` of at least 32 bytes: correct or remove it"
                )))
            }
        }
    }
}

/// Creates the file with a hard link, which fails if the file exists and makes it appear as a whole.
fn create_whole(data_dir: &Path, path: &Path, random: &Random) -> io::Result<()> {
    let draft = data_dir.join(format!("secrets.{}.tmp", random.hex::<8>()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    writeln!(file, "# Made at the first start. Anyone who can read this can make tokens.")?;
    writeln!(file, "jwt_secret = \"{}\"", random.hex::<32>())?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => File::open(data_dir)?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let made: Vec<String> = std::thread::scope(|scope| {
            let start =
                || Secrets::load_or_create(folder.path(), &Random::system()).unwrap().jwt_secrets[0].clone();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(made[0].len(), 64);
        assert!(made.iter().all(|secret| *secret == made[0]));
        let file = fs::metadata(folder.path().join("secrets.toml")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn secrets_stand_one_a_line() {
        let (new, old) = ("n".repeat(32), "a comma, and spaces: long enough.".to_owned());
        assert_eq!(parse("").unwrap(), Vec::<String>::new());
        assert_eq!(parse(&old).unwrap().concat(), old);
        assert_eq!(parse(&format!("{new}\r\n{old}\n\n")).unwrap(), [new.clone(), old]);
        let fault = parse(&format!("{new}\nshort")).unwrap_err();
        assert!(fault.contains("line 2") && fault.contains("32"), "{fault}");
        assert!(!parse("short").unwrap_err().contains("line"));
    }

    #[test]
    fn a_broken_file_is_named_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secrets.toml"), "jwt_secret = \"short\"").unwrap();
        let fault = Secrets::load_or_create(folder.path(), &Random::system()).err().unwrap();
        assert!(fault.to_string().contains("secrets.toml"), "{fault}");
    }
}
