//! A well-behaved client: whole responses, and the requests that the target reports.

use crate::schema::{self, Answer};
use reqwest::header::HeaderMap;
use serde_json::Value;

/// A whole response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

/// Sends a request and reads the whole response, which must be as the service documents it.
pub async fn reply(request: reqwest::RequestBuilder) -> Reply {
    let (client, request) = request.build_split();
    let request = request.expect("a request");
    let (method, url) = (request.method().clone(), request.url().clone());
    let response = client.execute(request).await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let reply = Reply { status, headers, body: response.text().await.expect("a whole body") };
    let content_type = reply.header("content-type").first().copied().unwrap_or_default();
    schema::check(&Answer { method: method.as_str(), url: &url, status, content_type, body: &reply.body });
    reply
}

pub async fn get(url: String) -> Reply {
    reply(reqwest::Client::new().get(url)).await
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Returns the values of a header, in their order.
    pub fn header(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().expect("text")).collect()
    }

    /// Returns the request as the target reports it.
    pub fn echoed(&self) -> Echoed {
        assert_eq!(self.status, 200, "{self:?}");
        Echoed(self.json())
    }

    /// Checks the gateway's error record, and returns the status, the code and the route.
    pub fn error(&self) -> (u16, String, String) {
        check_error(self.status, &self.json());
        let text = |name: &str| self.json()[name].as_str().expect("text").to_owned();
        (self.status, text("code"), text("route"))
    }
}

/// Checks the gateway's error record: six fields, each of its type, with the status of the response.
pub fn check_error(status: u16, record: &Value) {
    let fields = record.as_object().expect("an object");
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["code", "message", "requestId", "route", "status", "timestamp"], "{record}");
    assert_eq!(record["status"], status, "{record}");
    assert!(["AUTH", "KV", "BUILD", "CORE"].contains(&record["route"].as_str().expect("text")), "{record}");
    assert!(record["code"].as_str().is_some_and(|code| !code.is_empty()), "{record}");
    assert!(record["message"].as_str().is_some_and(|message| !message.is_empty()), "{record}");
    assert!(is_uuid(record["requestId"].as_str().expect("text")), "{record}");
    assert!(is_iso8601(record["timestamp"].as_str().expect("text")), "{record}");
}

pub fn is_uuid(text: &str) -> bool {
    has_shape(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

fn is_iso8601(text: &str) -> bool {
    has_shape(text, "dddd-dd-ddTdd:dd:dd.dddZ") || has_shape(text, "dddd-dd-ddTdd:dd:ddZ")
}

fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'x' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        _ => byte == wanted,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// A request as the target has received it.
#[derive(Debug)]
pub struct Echoed(pub Value);

impl Echoed {
    pub fn method(&self) -> &str {
        self.0["method"].as_str().expect("text")
    }

    pub fn uri(&self) -> &str {
        self.0["uri"].as_str().expect("text")
    }

    pub fn body(&self) -> &str {
        self.0["body"].as_str().expect("text")
    }

    /// Returns the values of a header, in their order.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let all = self.0["headers"].as_array().expect("a list").iter();
        all.filter(|pair| pair[0] == name).map(|pair| pair[1].as_str().expect("text")).collect()
    }
}
