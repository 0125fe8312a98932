//! Web pages of Debian's nginx, if it is installed: redirects, entity tags, a sitemap and a crawl.

use connectors::{Reading, WebMode};

use crate::nginx_server::Nginx;
use crate::support::Opened;
use crate::web::{item, open_web};

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
                Reading::Skipped { reason, .. } => panic!("{}: {reason}", item.path),
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
