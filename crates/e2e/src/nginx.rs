//! Debian's nginx, if it is installed, serving a temporary folder.

use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub struct Nginx {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Nginx {
    /// Returns none if it is not installed.
    pub async fn start() -> Option<Nginx> {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let path = folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {path}/{name};\n"))
            .concat();
        let config = format!(
            "{user} daemon off; worker_processes 1; pid {path}/pid; error_log stderr;\n\
             events {{ worker_connections 64; }}\n\
             http {{ access_log off; {temporary}\n\
             types {{ text/html html; text/xml xml; application/pdf pdf; text/plain txt; }}\n\
             server {{ listen 127.0.0.1:{port}; root {path}/site; absolute_redirect on;\n\
             location = /old {{ return 301 /docs/; }} location = /gone {{ return 410; }} }} }}\n"
        );
        std::fs::create_dir(folder.path().join("site")).unwrap();
        std::fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let config = folder.path().join("nginx.conf");
        let mut command = Command::new("/usr/sbin/nginx");
        command
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(config)
            .args(["-e", "stderr"])
            .stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            println!("skipped: nginx is not installed");
            return None;
        };
        let nginx = Nginx { folder, port, child };
        for _ in 0..100 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Some(nginx);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nginx does not answer");
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.folder.path().join("site").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Ended by a signal that it expects, it also ends its workers.
        if let Some(id) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
