//! Crawls: where they go, where they stop, and what they remember.

use connectors::{Reading, Settings, WebMode};
use std::collections::HashMap;

use crate::site::Site;
use crate::support::open;
use crate::web::private;

fn crawl(site: &Site, depth: u32, pages: u32) -> Settings {
    let addresses = vec![site.url("/docs/")];
    Settings::Web { mode: WebMode::Crawl, addresses, depth, pages, delay: 0 }
}

/// Crawls with the states of the last time, and returns what became of each page, by its path.
async fn run(
    site: &Site,
    settings: &Settings,
    states: &mut HashMap<String, String>,
) -> Vec<(String, String)> {
    let mut opened = open(settings, &private()).await.unwrap();
    let mut results = Vec::new();
    while let Some(items) = opened.connector.next_items().await.unwrap() {
        for item in items {
            let known = states.get(&item.path).cloned().unwrap_or_default();
            let result = match opened.read(&item, &known).await {
                Ok((Reading::Read(found), _)) => {
                    states.insert(item.path.clone(), found.state);
                    "read".to_owned()
                }
                Ok((Reading::Unchanged, _)) => "unchanged".to_owned(),
                Ok((Reading::Skipped { reason, state }, content)) => {
                    assert!(content.is_empty(), "{}", item.path);
                    states.insert(item.path.clone(), state);
                    reason
                }
                Err(error) => error.to_string(),
            };
            results.push((item.path.replace(&site.address, ""), result));
        }
    }
    results
}

async fn read(site: &Site, settings: &Settings) -> Vec<String> {
    let results = run(site, settings, &mut HashMap::new()).await;
    results.into_iter().filter(|(_, result)| result == "read").map(|(path, _)| path).collect()
}

#[tokio::test]
async fn a_crawl_stays_in_its_prefix_and_within_depth_and_count() {
    let site = Site::start().await;
    site.put("/robots.txt", 200, "", "User-agent: *\nDisallow: /docs/private\n");
    site.html(
        "/docs/",
        "<a href=1#x>1</a><a href=1>again</a><a href=/>out</a><a href=/docsother>out</a><a href=picture.png>\
         <a href=private>no</a><a rel=nofollow href=nofollow>no</a><a href=http://example.org/docs/>out</a>",
    );
    site.html("/docs/1", "<base href=/docs/deep/><a href=2>2</a><a href=/docs/>up</a>");
    site.html("/docs/deep/2", "<a href=3>3</a>");
    site.html("/docs/deep/3", "<a href=4>4</a>");
    site.html("/docs/deep/4", "<a href=5>5</a>");
    let paths = ["/docs/", "/docs/1", "/docs/deep/2", "/docs/deep/3"];
    assert_eq!(read(&site, &crawl(&site, 3, 100)).await, paths);
    let asked: Vec<String> = site.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked[1..], paths, "nothing else is asked for");
    assert_eq!(read(&site, &crawl(&site, 1, 100)).await, paths[..2]);
    assert_eq!(read(&site, &crawl(&site, 3, 3)).await, paths[..3]);
}

#[tokio::test]
async fn a_page_with_several_addresses_is_read_once() {
    let site = Site::start().await;
    site.html("/docs/", "<a href=old>1</a><a href=a?print>2</a><a href=out>3</a><a href=quiet>4</a>");
    site.redirect("/docs/old", "/docs/new");
    site.html("/docs/new", "<a href=/docs/new>itself</a><a href=/docs/old>itself</a>");
    site.html("/docs/a?print", "<link rel=canonical href='/docs/a'><p>a");
    site.html("/docs/a", "<link rel=canonical href='/docs/a'><p>a");
    site.redirect("/docs/out", "/elsewhere");
    site.html("/elsewhere", "<p>x");
    site.html("/docs/quiet", "<meta name=robots content='noindex'><a href=behind>b</a>");
    site.html("/docs/behind", "<meta name=robots content='nofollow'><a href=never>b</a>");
    let results = run(&site, &crawl(&site, 3, 100), &mut HashMap::new()).await;
    let result = |path: &str| {
        let results: Vec<_> = results.iter().filter(|(other, _)| other == path).collect();
        assert!(results.len() < 2, "{path} is listed twice");
        results.first().map(|(_, result)| result.as_str()).unwrap_or_default()
    };
    assert_eq!(result("/docs/old"), "read");
    assert_eq!(result("/docs/new"), "");
    assert_eq!(result("/docs/a?print"), format!("it is the same as {}", site.url("/docs/a")));
    assert_eq!(result("/docs/a"), "read");
    assert!(result("/docs/out").ends_with("which is not below the source's addresses"));
    assert_eq!(result("/docs/quiet"), "it asks not to be indexed");
    assert_eq!(result("/docs/behind"), "read");
    assert_eq!(result("/docs/never"), "");
}

#[tokio::test]
async fn an_unchanged_page_still_leads_to_its_links() {
    let site = Site::start().await;
    let tagged = "Content-Type: text/html\nETag: \"1\"";
    site.put("/docs/", 200, tagged, "<a href=1>1</a><a href=2>2</a>");
    site.put("/docs/1", 200, tagged, "<a href=3>3</a>");
    site.html("/docs/2", "<a href=4>4</a>");
    site.html("/docs/3", "3");
    site.html("/docs/4", "4");
    let settings = crawl(&site, 3, 100);
    let mut states = HashMap::new();
    let results = |expected: [(&str, &str); 5]| {
        expected.map(|(path, result)| (format!("/docs/{path}"), result.to_owned())).to_vec()
    };
    let first = run(&site, &settings, &mut states).await;
    assert_eq!(first, results([("", "read"), ("1", "read"), ("2", "read"), ("3", "read"), ("4", "read")]));

    site.put("/docs/2", 500, "", "");
    let second = run(&site, &settings, &mut states).await;
    let failed = "the server answers 500 Internal Server Error";
    assert_eq!(
        second,
        results([("", "unchanged"), ("1", "unchanged"), ("2", failed), ("3", "read"), ("4", "read")])
    );

    // Of a page that is gone, the links are gone as well.
    site.remove("/docs/2");
    let third = run(&site, &settings, &mut states).await;
    assert_eq!(
        third.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["/docs/", "/docs/1", "/docs/2", "/docs/3"]
    );

    // Another scope needs links that were not remembered.
    let wider = Settings::Web {
        mode: WebMode::Crawl,
        addresses: vec![site.url("/docs/"), site.url("/more/")],
        depth: 3,
        pages: 100,
        delay: 0,
    };
    assert_eq!(run(&site, &wider, &mut states).await[0].1, "read");
}

#[tokio::test]
async fn a_page_of_many_links_and_rules_does_not_hold_up_others() {
    let site = Site::start().await;
    let rules: String = (0..5_000).map(|number| format!("Disallow: /docs/*a*{number}b*c\n")).collect();
    site.put("/robots.txt", 200, "", format!("User-agent: *\n{rules}"));
    let links: String = (0..5_000).map(|number| format!("<a href=a{number}b>x</a>")).collect();
    site.html("/docs/", &links);
    let ticks = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = std::sync::Arc::clone(&ticks);
    let ticking = tokio::spawn(async move {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let mut opened = open(&crawl(&site, 1, 10), &private()).await.unwrap();
    let items = opened.connector.next_items().await.unwrap().unwrap();
    let start = std::time::Instant::now();
    opened.content(&items[0]).await;
    let most = start.elapsed().as_millis() / 10;
    ticking.abort();
    let ticks = u128::from(ticks.load(std::sync::atomic::Ordering::Relaxed));
    assert!(most > 20 && ticks * 4 > most, "{ticks} of {most}");
    assert_eq!(opened.connector.next_items().await.unwrap().unwrap().len(), 9);
}

#[tokio::test]
async fn what_is_behind_a_page_that_fails_once_stays() {
    let site = Site::start().await;
    site.html("/docs/", "<a href=quiet>q</a>");
    site.html("/docs/quiet", "<meta name=robots content=noindex><a href=behind>b</a>");
    site.html("/docs/behind", "b");
    let settings = crawl(&site, 3, 100);
    let mut states = HashMap::new();
    run(&site, &settings, &mut states).await;
    site.put("/docs/quiet", 503, "", "");
    let paths: Vec<String> =
        run(&site, &settings, &mut states).await.into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/docs/", "/docs/quiet", "/docs/behind"]);

    // More links than are remembered, one of which is the last.
    let long = "x".repeat(1_000);
    let links: String = (0..600).map(|number| format!("<a href={long}{number}>x</a>")).collect();
    site.html("/docs/", &links);
    let many = crawl(&site, 1, 1_000);
    let mut opened = open(&many, &private()).await.unwrap();
    let first = opened.connector.next_items().await.unwrap().unwrap();
    let (state, ..) = opened.content(&first[0]).await;
    assert_eq!(opened.connector.next_items().await.unwrap().unwrap().len(), 600);
    site.put("/docs/", 503, "", "");
    let mut opened = open(&many, &private()).await.unwrap();
    opened.connector.next_items().await.unwrap();
    opened.read(&first[0], &state).await.unwrap_err();
    assert!(opened.connector.next_items().await.unwrap().is_some());
    let failed = opened.connector.next_items().await.unwrap_err().message;
    assert!(failed.ends_with("has too many links to remember them all"), "{failed}");
    site.remove("/docs/");
    let mut opened = open(&many, &private()).await.unwrap();
    opened.connector.next_items().await.unwrap();
    opened.read(&first[0], &state).await.unwrap_err();
    assert_eq!(opened.connector.next_items().await.unwrap(), None);
}
