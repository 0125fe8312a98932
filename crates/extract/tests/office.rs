//! Office files from before 2007, which LibreOffice makes here from files of today. Without it the tests say so and
//! pass.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops where it fails, and says what it skips"
)]

use std::process::Command;

use extract::{ExtractError, Extractor, Kind, Limits, extract};

const RTF: &str = r"{\rtf1\ansi{\stylesheet{\s1\outlinelevel0 heading 1;}}\pard\s1 Pumps\par\pard They turn.\par
    {\listtext\'b7\tab}\ls1 Stop.\par\trowd\cellx2000\cellx4000\pard\intbl Name\cell Speed\cell\row
    \trowd\cellx2000\cellx4000\pard\intbl P-204\cell 3000\cell\row\pard End.\par}";

/// Returns the file in another format, or `None` if LibreOffice is not there.
fn converted(file: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join(format!("in.{from}")), file).unwrap();
    let profile = format!("-env:UserInstallation=file://{}/profile", place.path().display());
    let mut command = Command::new("soffice");
    command.args(["--headless", "--convert-to", to, &profile, &format!("in.{from}")]);
    let Ok(_) = command.current_dir(place.path()).env("HOME", place.path()).output() else {
        println!("SKIPPED: old Office files are not tested, because soffice (libreoffice) is not installed");
        return None;
    };
    Some(std::fs::read(place.path().join(format!("in.{to}"))).unwrap())
}

fn limits() -> Limits {
    Limits::default()
}

#[test]
fn old_files_are_read_as_those_of_today() {
    for (file, from, to, kind, expected) in [
        (
            RTF.as_bytes().to_vec(),
            "rtf",
            "doc",
            Kind::Doc,
            &["Pumps", "Stop.", "Name: P-204; Speed: 3000"][..],
        ),
        (b"Name,Speed\nP-204,3000\n".to_vec(), "csv", "xls", Kind::Xls, &["Name: P-204; Speed: 3000"]),
    ] {
        let Some(old) = converted(&file, from, to) else { return };
        let document = extract("upload", &old, &limits()).unwrap();
        assert_eq!(document.kind, kind);
        let headings =
            document.blocks.iter().flat_map(|block| block.headings.clone()).collect::<Vec<_>>().join("\n");
        let all = format!("{headings}\n{}", document.text());
        assert!(expected.iter().all(|part| all.contains(part)), "{to}: {all}");
    }
}

#[test]
fn slides_of_old_presentations_are_pages() {
    let Some(old) = converted(PRESENTATION.as_bytes(), "fodp", "ppt") else { return };
    let document = extract("upload", &old, &limits()).unwrap();
    let found: Vec<(Option<u32>, &str)> =
        document.blocks.iter().map(|block| (block.page, block.text.as_str())).collect();
    assert_eq!(
        (document.kind, found),
        (Kind::Ppt, vec![(Some(1), "The pump turns."), (Some(2), "It is hot.")])
    );
}

const PRESENTATION: &str = r#"<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.2"
    office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>
    <draw:page draw:name="a"><draw:frame svg:width="9cm" svg:height="2cm" svg:x="1cm" svg:y="1cm"><draw:text-box><text:p>The pump turns.</text:p></draw:text-box></draw:frame></draw:page>
    <draw:page draw:name="b"><draw:frame svg:width="9cm" svg:height="2cm" svg:x="1cm" svg:y="1cm"><draw:text-box><text:p>It is hot.</text:p></draw:text-box></draw:frame></draw:page>
    </office:presentation></office:body></office:document>"#;

/// The start of an old file, with the name of a stream.
fn stub(stream: &str) -> Vec<u8> {
    let name: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", &name[..]].concat()
}

#[test]
fn without_the_program_the_error_says_what_to_install() {
    let arguments = ["PATH=/nowhere", env!("CARGO_BIN_EXE_extract-worker")];
    let bare = Extractor::new("/usr/bin/env".into(), arguments.map(Into::into).to_vec(), 1, limits());
    assert_eq!(
        bare.extract("a.doc", &stub("WordDocument")).unwrap_err().to_string(),
        "the DOC document cannot be read yet: have `libreoffice` installed on the server, which converts Office files \
         from before 2007"
    );
}

#[test]
fn a_damaged_file_is_named_and_leaves_nothing_behind() {
    if converted(b"x", "txt", "doc").is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let arguments =
        [format!("TMPDIR={}", place.path().display()), env!("CARGO_BIN_EXE_extract-worker").to_owned()];
    let worker = Extractor::new("/usr/bin/env".into(), arguments.map(Into::into).to_vec(), 1, limits());
    let error = worker.extract("a.ppt", &stub("PowerPoint Document")).unwrap_err();
    assert!(matches!(error, ExtractError::Damaged { kind: Kind::Ppt, .. }), "{error}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    let hurried = Limits { seconds: 1, seconds_per_mib: 0, ..limits() };
    let old = converted(b"The pump turns.", "txt", "doc").unwrap();
    assert_eq!(extract("a.doc", &old, &hurried), Err(ExtractError::TooSlow { seconds: 0 }));
}
