//! Which content types are read, and what a page is called as a file.

use url::Url;

/// Content types that are read, with the extensions that fit them. The first is added to a name that has none of them.
const KINDS: [(&str, &[&str]); 18] = [
    ("text/html", &["html", "htm", "xhtml"]),
    ("application/xhtml+xml", &["xhtml", "html", "htm"]),
    ("application/pdf", &["pdf"]),
    ("application/msword", &["doc"]),
    ("application/vnd.ms-excel", &["xls"]),
    ("application/vnd.ms-powerpoint", &["ppt"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx"]),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx"]),
    ("application/vnd.oasis.opendocument.text", &["odt"]),
    ("application/vnd.oasis.opendocument.spreadsheet", &["ods"]),
    ("application/vnd.oasis.opendocument.presentation", &["odp"]),
    ("application/rtf", &["rtf"]),
    ("application/epub+zip", &["epub"]),
    ("application/json", &["json", "ipynb", "geojson"]),
    ("application/xml", &["xml"]),
    ("text/markdown", &["md", "markdown"]),
    ("text/csv", &["csv"]),
];
/// Texts that are not read by people.
const PAGE_PARTS: [&str; 4] = ["text/css", "text/javascript", "text/ecmascript", "text/cache-manifest"];

/// Extensions of what pages are made of, and of what cannot be searched. A crawl does not ask for them.
#[rustfmt::skip]
const NOT_PAGES: [&str; 41] = [
    "7z", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dmg", "exe", "flac", "gif", "gz", "ico", "iso",
    "jar", "jpeg", "jpg", "js", "mjs", "mov", "mp3", "mp4", "msi", "ogg", "png", "rar", "rpm", "svg", "tar", "tgz",
    "tif", "tiff", "wasm", "wav", "webm", "webp", "woff", "woff2", "zip",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    extensions: &'static [&'static str],
    pub is_html: bool,
}

impl Kind {
    /// Returns the kind of an answer with this `Content-Type`, if it is read. What a server does not know is taken by
    /// its name.
    pub fn of(content_type: &str, address: &Url) -> Option<Kind> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let found = match essence.as_str() {
            "application/octet-stream" | "binary/octet-stream" => {
                let extension = extension(last_part(address))?.to_ascii_lowercase();
                KINDS.iter().find(|(_, extensions)| extensions.contains(&extension.as_str()))
            }
            "" => KINDS.first(),
            essence => KINDS.iter().find(|(kind, _)| *kind == essence),
        };
        match found {
            Some((kind, extensions)) => {
                let is_html = matches!(*kind, "text/html" | "application/xhtml+xml");
                Some(Kind { extensions, is_html })
            }
            None if PAGE_PARTS.contains(&essence.as_str()) => None,
            None if essence.starts_with("text/") => Some(Kind { extensions: &[], is_html: false }),
            None if essence.ends_with("+json") => Some(Kind { extensions: &["json"], is_html: false }),
            None => None,
        }
    }

    /// Returns the last part of the address with an extension that tells the kind.
    pub fn filename(&self, address: &Url) -> String {
        let part = last_part(address);
        let bytes = percent_decoded(part);
        let decoded = String::from_utf8_lossy(&bytes);
        let name: String = decoded.chars().filter(|c| !c.is_control() && !matches!(c, '/' | '\\')).collect();
        let name: String = name.trim_matches(['.', ' ']).chars().take(120).collect();
        let name = if name.is_empty() { "index".to_owned() } else { name };
        let has = extension(&name).map(str::to_ascii_lowercase);
        match (self.extensions.first(), has) {
            (Some(_), Some(has)) if self.extensions.contains(&has.as_str()) => name,
            (Some(wanted), _) => format!("{name}.{wanted}"),
            (None, Some(_)) => name,
            (None, None) => format!("{name}.txt"),
        }
    }
}

/// Returns whether an address may be of a page or a document, as far as its name tells.
pub(super) fn may_be_page(address: &Url) -> bool {
    let extension = extension(last_part(address)).map(str::to_ascii_lowercase);
    extension.is_none_or(|extension| !NOT_PAGES.contains(&extension.as_str()))
}

fn last_part(address: &Url) -> &str {
    address.path().rsplit('/').next().unwrap_or_default()
}

fn extension(name: &str) -> Option<&str> {
    let (before, extension) = name.rsplit_once('.')?;
    (!before.is_empty() && !extension.is_empty()).then_some(extension)
}

fn percent_decoded(part: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_address_and_content_type() {
        let cases = [
            ("text/html; charset=utf-8", "/", Some("index.html")),
            ("Text/HTML", "/guide/", Some("index.html")),
            ("text/html", "/guide/start", Some("start.html")),
            ("text/html", "/guide/start.HTM?x=1.pdf", Some("start.HTM")),
            ("text/html", "/page.php", Some("page.php.html")),
            ("", "/page", Some("page.html")),
            ("text/plain", "/README.rst", Some("README.rst")),
            ("text/plain", "/LICENSE", Some("LICENSE.txt")),
            ("application/pdf", "/download", Some("download.pdf")),
            ("application/octet-stream", "/a.pdf", Some("a.pdf")),
            ("application/octet-stream", "/a.bin", None),
            ("application/ld+json", "/data", Some("data.json")),
            ("text/html", "/%C3%BCber%2F..%2Funs%0A", Some("über..uns.html")),
            ("image/png", "/a.png", None),
            ("text/css", "/a.css", None),
            ("application/zip", "/a.zip", None),
        ];
        for (content_type, path, wanted) in cases {
            let address = Url::parse("https://example.org").unwrap().join(path).unwrap();
            let filename = Kind::of(content_type, &address).map(|kind| kind.filename(&address));
            assert_eq!(filename.as_deref(), wanted, "{content_type} {path}");
        }
    }
}
