//! Git repositories, and a server for them: `git http-backend` behind a check of the password, or the plain files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A repository, and a work folder for the copies.
pub struct Repository {
    pub folder: TempDir,
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Repository {
    pub fn new() -> Repository {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let repository = Repository { folder };
        std::fs::create_dir(repository.path()).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    pub fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn commit(&self, files: &[(&str, &[u8])]) {
        for (path, content) in files {
            let path = self.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
    }
}

pub struct GitServer {
    address: String,
    accepting: JoinHandle<()>,
}

struct Served {
    folder: PathBuf,
    /// None for plain files.
    authorization: Option<String>,
}

impl GitServer {
    /// Serves a repository to those who have `name:password`.
    pub async fn start(repository: &Path, credentials: &str) -> GitServer {
        let authorization = Some(format!("basic {}", STANDARD.encode(credentials)));
        Self::serve(Served { folder: repository.join(".git"), authorization }).await
    }

    pub async fn start_plain(folder: &Path) -> GitServer {
        Self::serve(Served { folder: folder.to_owned(), authorization: None }).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/repository", self.address)
    }

    async fn serve(served: Served) -> GitServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = Arc::new(served);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&served)));
            }
        });
        GitServer { address, accepting }
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn answer(mut socket: TcpStream, served: Arc<Served>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let header = |name: &str| {
        head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
    socket.read_exact(&mut body).await.unwrap();
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix("/repository").unwrap_or(path);
    let answer = match &served.authorization {
        None => match std::fs::read(served.folder.join(path.trim_start_matches('/'))) {
            Ok(content) => [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec(), content].concat(),
            Err(_) => b"HTTP/1.1 404 None\r\nConnection: close\r\n\r\n".to_vec(),
        },
        Some(wanted) => {
            let sent = header("authorization").unwrap_or_default();
            match sent.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic "))
                && sent[6..] == wanted[6..]
            {
                true => {
                    let variables = [
                        ("PATH_INFO", path.to_owned()),
                        ("REQUEST_METHOD", method.to_owned()),
                        ("QUERY_STRING", query.to_owned()),
                        ("CONTENT_TYPE", header("content-type").unwrap_or_default()),
                        ("HTTP_CONTENT_ENCODING", header("content-encoding").unwrap_or_default()),
                        ("GIT_PROTOCOL", header("git-protocol").unwrap_or_default()),
                    ];
                    backend(&served.folder, variables, &body).await
                }
                false => {
                    let head =
                        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nConnection: close\r\n\r\n";
                    head.as_bytes().to_vec()
                }
            }
        }
    };
    let _ = socket.write_all(&answer).await;
    let _ = socket.shutdown().await;
}

/// Runs git's own server for one request.
async fn backend(folder: &Path, variables: [(&str, String); 6], body: &[u8]) -> Vec<u8> {
    let mut child = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", folder)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .envs(variables)
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("REMOTE_USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(body).await.unwrap();
    let output = child.wait_with_output().await.unwrap().stdout;
    // A CGI program writes the status as a header.
    let text = String::from_utf8_lossy(&output[..output.len().min(200)]).into_owned();
    let status = text.strip_prefix("Status: ").and_then(|rest| rest.lines().next()).unwrap_or("200 OK");
    [format!("HTTP/1.1 {status}\r\nConnection: close\r\n").into_bytes(), output].concat()
}
