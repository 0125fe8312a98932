//! Web pages against a small server of the test: conditional requests, redirects, robots.txt, sitemaps.

use connectors::{Environment, Item, ItemError, Reading, Settings, WebMode};
use std::io::Write;
use std::time::{Duration, Instant};

use crate::site::Site;
use crate::support::{Opened, open};

pub fn private() -> Environment {
    Environment { allow_private_addresses: true, ..Environment::default() }
}

pub fn web(mode: WebMode, addresses: &[String]) -> Settings {
    Settings::Web { mode, addresses: addresses.to_vec(), depth: 3, pages: 100, delay: 0 }
}

pub async fn open_web(mode: WebMode, addresses: &[String]) -> Opened {
    open(&web(mode, addresses), &private()).await.unwrap()
}

pub fn item(path: String) -> Item {
    Item { path, version: String::new() }
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_again() {
    let site = Site::start().await;
    site.put("/a", 200, "Content-Type: text/html\nETag: \"1\"", "<p>one");
    let page = item(site.url("/a"));
    let (state, filename, content) = open_web(WebMode::Pages, &[site.url("/a")]).await.content(&page).await;
    assert_eq!((filename.as_str(), content.as_slice()), ("a.html", b"<p>one".as_slice()));

    let again = open_web(WebMode::Pages, &[site.url("/a")]).await.read(&page, &state).await.unwrap();
    assert_eq!(again, (Reading::Unchanged, vec![]));
    site.put("/a", 200, "Content-Type: text/html\nETag: \"2\"", "<p>two");
    let (reading, content) =
        open_web(WebMode::Pages, &[site.url("/a")]).await.read(&page, &state).await.unwrap();
    assert!(matches!(reading, Reading::Read(_)));
    assert_eq!(content, b"<p>two");
}

#[tokio::test]
async fn redirects_are_followed_five_times_and_the_last_address_is_told() {
    let site = Site::start().await;
    for hop in 1..=5 {
        site.redirect(&format!("/{hop}"), &format!("/{}", hop - 1));
    }
    site.put("/0", 200, "Content-Type: text/html\nETag: \"1\"", "<p>here");
    site.redirect("/6", "/5");
    site.redirect("/file", "file:///etc/passwd");
    let mut opened = open_web(WebMode::Pages, &[site.url("/5")]).await;
    let (reading, content) = opened.read(&item(site.url("/5")), "").await.unwrap();
    let Reading::Read(found) = reading else { panic!("{reading:?}") };
    assert_eq!((found.address, content.as_slice()), (Some(site.url("/0")), b"<p>here".as_slice()));
    let again = opened.read(&item(site.url("/5")), &found.state).await.unwrap();
    assert_eq!(again.0, Reading::Unchanged);

    let refused = opened.read(&item(site.url("/6")), "").await.unwrap_err();
    assert_eq!(refused, ItemError::Item("it redirects more than 5 times".to_owned()));
    let refused = opened.read(&item(site.url("/file")), "").await.unwrap_err();
    assert!(refused.to_string().contains("no http or https address"), "{refused}");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let refused = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
        connectors::check(&web(WebMode::Pages, &addresses), &Environment::default()).unwrap_err().message
    };
    let private = "is an address of a private network or of this machine";
    assert_eq!(refused(&["http://10.0.0.1/"]), format!("`addresses` is refused: 10.0.0.1 {private}"));
    assert_eq!(refused(&["http://[::1]/"]), format!("`addresses` is refused: [::1] {private}"));
    assert!(refused(&["ftp://example.org/"]).starts_with("`addresses` is not an http or https address"));
    assert!(
        refused(&["https://ada:secret@example.org/"]).ends_with("has a user name or password in its address")
    );
    assert_eq!(refused(&[]), "`addresses` has to name 1 to 10000 addresses");
    // A name of this machine that does not look like one: refused when it is resolved.
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default().trim().to_owned();
    let settings = web(WebMode::Pages, &[format!("http://{name}/")]);
    let mut opened = open(&settings, &Environment::default()).await.unwrap();
    let refused = opened.read(&item(format!("http://{name}/")), "").await.unwrap_err();
    assert!(refused.to_string().contains(private) || refused.to_string().contains("not found"), "{refused}");
}

#[tokio::test]
async fn robots_txt_is_read_once_and_obeyed() {
    let site = Site::start().await;
    site.put("/robots.txt", 200, "", "User-agent: *\nDisallow: /private\n");
    site.html("/a", "<p>a");
    site.html("/private/b", "<p>b");
    site.redirect("/hidden", "/private/b");
    let mut opened =
        open_web(WebMode::Pages, &["/a", "/private/b", "/hidden"].map(|path| site.url(path))).await;
    assert_eq!(opened.paths().await, ["/a", "/hidden", "/private/b"].map(|path| site.url(path)));
    let disallowed = Reading::skipped("robots.txt of 127.0.0.1 does not allow it");
    for path in ["/private/b", "/hidden"] {
        assert_eq!(opened.read(&item(site.url(path)), "").await.unwrap(), (disallowed.clone(), vec![]));
    }
    opened.content(&item(site.url("/a"))).await;
    let asked: Vec<String> = site.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/robots.txt", "/hidden", "/a"]);

    site.put("/robots.txt", 503, "", "");
    let failed = open_web(WebMode::Pages, &[site.url("/a")]).await.read(&item(site.url("/a")), "").await;
    let message = "robots.txt of 127.0.0.1: the server answers 503 Service Unavailable".to_owned();
    assert_eq!(failed, Err(ItemError::Place(message)));
}

#[tokio::test]
async fn requests_to_one_host_keep_their_distance() {
    let site = Site::start().await;
    let other = Site::start().await;
    site.put("/robots.txt", 200, "", "User-agent: StoaBot\nCrawl-delay: 0.5\n");
    site.html("/a", "a");
    other.html("/b", "b");
    let addresses = [site.url("/a"), other.url("/b")];
    let mut opened = open_web(WebMode::Pages, &addresses).await;
    let start = Instant::now();
    for _ in 0..3 {
        opened.content(&item(other.url("/b"))).await;
    }
    assert!(start.elapsed() < Duration::from_millis(450), "the other host has no delay");
    for _ in 0..2 {
        opened.content(&item(site.url("/a"))).await;
    }
    let times: Vec<_> = site.requests().iter().map(|request| request.at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] > Duration::from_millis(450)), "{times:?}");
    assert!(site.requests().is_empty() && times.len() == 3);
}

#[tokio::test]
async fn only_documents_are_read_and_each_gets_a_fitting_name() {
    let site = Site::start().await;
    site.put("/picture", 200, "Content-Type: image/png", "png");
    site.put("/manual?v=2", 200, "Content-Type: application/pdf", "%PDF-1.7");
    site.put("/tagged", 200, "Content-Type: text/html\nX-Robots-Tag: noindex", "<p>x");
    site.html("/meta", "<meta name=robots content=noindex><p>x");
    site.put("/packed", 200, "Content-Type: text/html\nContent-Encoding: br", "x");
    site.put("/broken", 500, "", "x");
    site.put("/closed", 0, "", "");
    let mut opened = open_web(WebMode::Pages, &[site.url("/")]).await;
    let skipped = |reason: &str| Ok((Reading::skipped(reason), vec![]));
    assert_eq!(opened.read(&item(site.url("/picture")), "").await, skipped("its type is image/png"));
    assert_eq!(opened.read(&item(site.url("/tagged")), "").await, skipped("it asks not to be indexed"));
    assert_eq!(opened.read(&item(site.url("/meta")), "").await, skipped("it asks not to be indexed"));
    assert_eq!(opened.content(&item(site.url("/manual?v=2"))).await.1, "manual.pdf");
    site.put("/latin", 200, "Content-Type: text/html; charset=windows-1252", b"<p>Gr\xfc\xdfe");
    assert_eq!(opened.content(&item(site.url("/latin"))).await.2, "\u{feff}<p>Grüße".as_bytes());
    // The other pages can be read.
    let unanswered = opened.read(&item(site.url("/closed")), "").await;
    assert!(matches!(unanswered, Err(ItemError::Item(_))), "{unanswered:?}");
    for (path, reason) in [
        ("/packed", "the server has packed it, which was not asked for"),
        ("/broken", "the server answers 500 Internal Server Error"),
        ("/nothing", "the page is not there: the server answers 404 Not Found"),
    ] {
        let failed = opened.read(&item(site.url(path)), "").await;
        assert_eq!(failed, Err(ItemError::Item(reason.to_owned())), "{path}");
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

#[tokio::test]
async fn a_sitemap_of_sitemaps_is_read_to_its_pages() {
    let site = Site::start().await;
    let index = format!(
        "<?xml version='1.0'?><sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
         <sitemap><loc>{0}/one.xml.gz</loc></sitemap><sitemap><loc> {0}/two.txt </loc></sitemap>\
         <sitemap><loc>http://192.0.2.1/foreign.xml</loc></sitemap></sitemapindex>",
        site.address
    );
    let one = format!(
        "<urlset><url><loc>{0}/a?b=1&amp;c=2</loc><lastmod>2026-01-01</lastmod></url>\
         <url><loc><![CDATA[{0}/b]]></loc><image:image><image:loc>{0}/p.png</image:loc></image:image></url>\
         <url><loc>http://example.org/foreign</loc></url></urlset>",
        site.address
    );
    site.put("/sitemap.xml", 200, "", index);
    site.put("/one.xml.gz", 200, "", packed(&one));
    site.put("/two.txt", 200, "", format!("{0}/c\n{0}/a?b=1&c=2\n", site.address));
    let mut opened = open_web(WebMode::Sitemap, &[site.url("/sitemap.xml")]).await;
    assert_eq!(opened.paths().await, ["/a?b=1&c=2", "/b", "/c"].map(|path| site.url(path)));

    let two = Settings::Web {
        mode: WebMode::Sitemap,
        addresses: vec![site.url("/sitemap.xml")],
        depth: 3,
        pages: 2,
        delay: 0,
    };
    assert_eq!(open(&two, &private()).await.unwrap().paths().await.len(), 2);
}

#[tokio::test]
async fn a_sitemap_that_cannot_be_read_fails_the_listing() {
    let site = Site::start().await;
    let index = "<sitemapindex><sitemap><loc>/one.xml</loc></sitemap></sitemapindex>";
    site.put("/sitemap.xml", 200, "", index);
    for (status, body) in
        [(404, ""), (500, "<urlset/>"), (200, "<html><p>no</html>"), (200, "<urlset><url>"), (200, "")]
    {
        site.put("/one.xml", status, "", body);
        let failed = open_web(WebMode::Sitemap, &[site.url("/sitemap.xml")]).await.list().await;
        let message = failed.expect_err(body).message;
        assert!(
            message.starts_with(&format!("the sitemap {}/one.xml cannot be read", site.address)),
            "{message}"
        );
    }
}
