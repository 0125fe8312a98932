//! A browser without pages: keeps cookies by host and path, and follows redirects one at a time.

use crate::{Reply, reply};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Url};
use std::sync::Mutex;

pub struct Browser {
    client: reqwest::Client,
    cookies: Mutex<Vec<Cookie>>,
}

#[derive(Clone, Debug)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    /// As they were set.
    pub attributes: String,
    /// With its port, although browsers do not tell ports apart.
    host: String,
    path: String,
}

impl Default for Browser {
    fn default() -> Self {
        let client = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { client, cookies: Mutex::default() }
    }
}

impl Browser {
    pub async fn get(&self, url: &str) -> Reply {
        self.send(Method::GET, url, |request| request).await
    }

    pub async fn post(&self, url: &str) -> Reply {
        self.send(Method::POST, url, |request| request).await
    }

    pub async fn submit(&self, url: &str, form: &str) -> Reply {
        let kind = "application/x-www-form-urlencoded";
        self.send(Method::POST, url, |request| request.header("content-type", kind).body(form.to_owned()))
            .await
    }

    pub async fn send(
        &self,
        method: Method,
        url: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Reply {
        let url: Url = url.parse().expect("an address");
        let mut request = self.client.request(method, url.clone());
        let cookies = self.cookies_for(&url);
        if !cookies.is_empty() {
            request = request.header("cookie", cookies);
        }
        let answer = reply(with(request)).await;
        for set in answer.header("set-cookie") {
            self.keep(&url, set);
        }
        answer
    }

    pub fn cookie(&self, name: &str) -> Option<Cookie> {
        self.cookies.lock().unwrap().iter().find(|cookie| cookie.name == name).cloned()
    }

    pub fn forget(&self, name: &str) {
        self.cookies.lock().unwrap().retain(|cookie| cookie.name != name);
    }

    fn cookies_for(&self, url: &Url) -> String {
        let host = host(url);
        let cookies = self.cookies.lock().unwrap();
        let fits = |cookie: &&Cookie| cookie.host == host && is_below(url.path(), &cookie.path);
        let sent = cookies.iter().filter(fits).map(|cookie| format!("{}={}", cookie.name, cookie.value));
        sent.collect::<Vec<String>>().join("; ")
    }

    fn keep(&self, url: &Url, set: &str) {
        let (pair, attributes) = set.split_once(';').unwrap_or((set, ""));
        let (name, value) = pair.split_once('=').expect("a name and a value");
        let attribute = |name: &str| {
            let mut pairs = attributes.split(';').filter_map(|pair| pair.trim().split_once('='));
            pairs.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let path = attribute("path").unwrap_or_else(|| "/".to_owned());
        let is_gone = attribute("max-age").as_deref() == Some("0")
            || attribute("expires").is_some_and(|time| time.contains("1970"));
        let host = host(url);
        let mut cookies = self.cookies.lock().unwrap();
        cookies.retain(|cookie| (&*cookie.name, &cookie.host, &cookie.path) != (name, &host, &path));
        if !is_gone {
            let attributes = attributes.trim().to_owned();
            cookies.push(Cookie { name: name.to_owned(), value: value.to_owned(), attributes, host, path });
        }
    }
}

fn host(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(0))
}

fn is_below(path: &str, place: &str) -> bool {
    let place = place.trim_end_matches('/');
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
