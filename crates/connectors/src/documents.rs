//! Which files are documents although they are not plain text, by the extensions of their names. `extract` reads them.

#[rustfmt::skip]
const DOCUMENTS: [&str; 17] = [
    "doc", "docx", "epub", "odp", "ods", "odt", "pdf", "ppt", "pptx", "rtf", "tar", "tgz", "tif", "tiff", "xls", "xlsx",
    "zip",
];
const PICTURES: [&str; 4] = ["jpeg", "jpg", "png", "webp"];

pub(crate) fn is_document(filename: &str) -> bool {
    DOCUMENTS.contains(&extension(filename).as_str())
}

/// Returns whether a file is a picture, which may be a scan or only part of a text.
pub(crate) fn is_picture(filename: &str) -> bool {
    PICTURES.contains(&extension(filename).as_str())
}

/// Returns the extension in small letters; empty if there is none.
pub(crate) fn extension(filename: &str) -> String {
    filename.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_pictures_are_told_by_their_names() {
        assert!(["a.PDF", "b.tar", "c.x.tgz", "d.zip"].into_iter().all(is_document));
        assert!(["a.webp", "b.JPG"].into_iter().all(|name| is_picture(name) && !is_document(name)));
        assert!(
            ["a", "a.bin", "pdf", "a.pdf.exe"]
                .into_iter()
                .all(|name| !is_document(name) && !is_picture(name))
        );
    }
}
