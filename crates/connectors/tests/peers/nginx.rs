//! Web pages of Debian's nginx, if it is installed: redirects, entity tags, a sitemap and a crawl.

use connectors::{Reading, WebMode};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

use crate::support::Opened;
use crate::web::{item, open_web};

struct Nginx {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Nginx {
    /// Returns none if nginx is not installed.
    async fn start() -> Option<Nginx> {
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

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn write(&self, path: &str, content: &str) {
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

/// Crawls with the states of the last time, and returns how many pages were read and how many are unchanged.
async fn crawl(
    opened: &mut Opened,
    states: &mut std::collections::HashMap<String, String>,
) -> (usize, usize) {
    let (mut read, mut unchanged) = (0, 0);
    while let Some(items) = opened.connector.next_items().await.unwrap() {
        for item in items {
            let known = states.get(&item.path).cloned().unwrap_or_default();
            match opened.read(&item, &known).await.unwrap().0 {
                Reading::Read(found) => {
                    states.insert(item.path, found.state);
                    read += 1;
                }
                Reading::Unchanged => unchanged += 1,
                Reading::Skipped(reason) => panic!("{}: {reason}", item.path),
            }
        }
    }
    (read, unchanged)
}

#[tokio::test]
async fn a_site_of_nginx_is_crawled_and_only_what_changed_is_sent_again() {
    let Some(nginx) = Nginx::start().await else { return };
    let links: String = (0..40).map(|number| format!("<a href=page/{number}.html>{number}</a>")).collect();
    nginx.write(
        "docs/index.html",
        &format!("<h1>All</h1>{links}<a href=/other/>o</a><a href=manual.pdf>m</a>"),
    );
    nginx.write("docs/manual.pdf", "%PDF-1.7 not really");
    nginx.write("other/index.html", "outside");
    for number in 0..40 {
        nginx.write(&format!("docs/page/{number}.html"), &format!("<p>{number}<a href=../sub>s</a>"));
    }
    nginx.write("docs/sub/index.html", "<p>nginx redirects to the address with a slash");
    nginx.write("robots.txt", "User-agent: *\nDisallow: /docs/page/39\n");
    let mut states = std::collections::HashMap::new();
    let start = [nginx.url("/docs/")];
    let first = crawl(&mut open_web(WebMode::Crawl, &start).await, &mut states).await;
    assert_eq!(first, (42, 0), "the first page, 39 others, the PDF and one behind a redirect");
    let second = crawl(&mut open_web(WebMode::Crawl, &start).await, &mut states).await;
    assert_eq!(second, (0, 42));
    nginx.write("docs/page/7.html", "<p>changed");
    let third = crawl(&mut open_web(WebMode::Crawl, &start).await, &mut states).await;
    assert_eq!(third, (1, 41));
}

#[tokio::test]
async fn redirects_missing_pages_and_sitemaps_of_nginx_are_understood() {
    let Some(nginx) = Nginx::start().await else { return };
    nginx.write("docs/index.html", "<p>docs");
    nginx.write("a.txt", "a");
    let sitemap = format!("<urlset><url><loc>{}</loc></url></urlset>", nginx.url("/a.txt"));
    nginx.write("sitemap.xml", &sitemap);
    let mut opened = open_web(WebMode::Pages, &[nginx.url("/old")]).await;
    let (reading, content) = opened.read(&item(nginx.url("/old")), "").await.unwrap();
    let Reading::Read(found) = reading else { panic!("{reading:?}") };
    assert_eq!((found.address, found.filename.as_str()), (Some(nginx.url("/docs/")), "index.html"));
    assert_eq!(content, b"<p>docs");
    for (path, status) in [("/gone", "410"), ("/missing", "404")] {
        let refused = opened.read(&item(nginx.url(path)), "").await.unwrap_err();
        assert!(refused.to_string().contains(status), "{refused}");
    }
    let mut opened = open_web(WebMode::Sitemap, &[nginx.url("/sitemap.xml")]).await;
    assert_eq!(opened.paths().await, [nginx.url("/a.txt")]);
}
