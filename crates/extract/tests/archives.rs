//! Archives: what is unpacked from them, what is skipped, and how hostile ones are handled.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use extract::{
    ArchiveLimits, Excess, ExtractError, Extractor, Kind, Limits, SkipReason, Unpacked, detect, unpack,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const FILES: [(&str, &str); 3] =
    [("a.txt", "One."), ("docs/b.md", "# Two"), ("docs/deep/\u{e4}.txt", "Three.")];

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive.add_directory("docs", SimpleFileOptions::default()).unwrap();
    for (path, content) in files {
        // Stored, so that names within members are visible to detection.
        let options = SimpleFileOptions::default().compression_method(match content.len() > 10_000 {
            true => CompressionMethod::Deflated,
            false => CompressionMethod::Stored,
        });
        archive.start_file(*path, options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        // Written as they are: the builder would refuse `..`.
        let name = header.as_gnu_mut().unwrap();
        name.name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn files() -> Vec<(&'static str, &'static [u8])> {
    FILES.iter().map(|(path, text)| (*path, text.as_bytes())).collect()
}

fn unpacked(bytes: &[u8], limits: &ArchiveLimits) -> (TempDir, Result<Unpacked, ExtractError>) {
    let into = tempfile::tempdir().unwrap();
    let unpacked = unpack(bytes, into.path(), limits);
    (into, unpacked)
}

fn extractor() -> Extractor {
    Extractor::new(env!("CARGO_BIN_EXE_extract-worker").into(), Vec::new(), 1, Limits::default())
}

fn count(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn members_become_numbered_files_with_their_paths() {
    let extractor = extractor();
    for (name, archive) in
        [("a.zip", zip(&files())), ("a.tar", tar(&files())), ("a.tgz", gzip(&tar(&files())))]
    {
        assert_eq!(detect(name, &archive), Ok(Kind::Archive));
        assert_eq!(extractor.extract(name, &archive), Err(ExtractError::PackedFiles));
        let into = tempfile::tempdir().unwrap();
        let unpacked = extractor.unpack(name, &archive, into.path(), &ArchiveLimits::default()).unwrap();
        let found: Vec<(&str, String)> = unpacked
            .members
            .iter()
            .map(|member| (member.path.as_str(), std::fs::read_to_string(&member.file).unwrap()))
            .collect();
        let expected: Vec<(&str, String)> =
            FILES.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(unpacked.members[0].file, into.path().join("1"));
        assert_eq!(unpacked.skipped, []);
    }
    assert!(extractor.unpack("a.txt", b"words", Path::new("/"), &ArchiveLimits::default()).is_err());
}

#[test]
fn what_is_no_document_is_skipped_with_its_reason() {
    let nested = zip(&[("x.txt", b"x")]);
    let files: Vec<(&str, &[u8])> = vec![
        ("__MACOSX/._a.txt", b"x"),
        ("b/.DS_Store", b"x"),
        ("../../etc/cron.d/x", b"x"),
        ("empty.txt", b""),
        ("inner.zip", &nested),
        ("inner.tgz", b"\x1f\x8b"),
        ("good.txt", b"Good."),
    ];
    for archive in [zip(&files), tar(&files)] {
        let (into, unpacked) = unpacked(&archive, &ArchiveLimits::default());
        let unpacked = unpacked.unwrap();
        let skipped: Vec<(&str, SkipReason)> = unpacked
            .skipped
            .into_iter()
            .map(|one| (files.iter().find(|file| file.0 == one.path).unwrap().0, one.reason))
            .collect();
        assert_eq!(
            skipped,
            [
                ("__MACOSX/._a.txt", SkipReason::Hidden),
                ("b/.DS_Store", SkipReason::Hidden),
                ("../../etc/cron.d/x", SkipReason::BadPath),
                ("empty.txt", SkipReason::Empty),
                ("inner.zip", SkipReason::NestedArchive),
            ]
        );
        let paths: Vec<&str> = unpacked.members.iter().map(|member| member.path.as_str()).collect();
        assert_eq!(paths, ["inner.tgz", "good.txt"]);
        assert_eq!(count(into.path()), 2);
    }
}

#[test]
fn links_and_devices_are_not_followed() {
    let mut archive = tar::Builder::new(Vec::new());
    for (kind, name) in
        [(tar::EntryType::Symlink, "link"), (tar::EntryType::Link, "hard"), (tar::EntryType::Char, "null")]
    {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        archive.append_link(&mut header, name, "/etc/passwd").unwrap();
    }
    let mut zipped = ZipWriter::new(Cursor::new(Vec::new()));
    zipped.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    for archive in [archive.into_inner().unwrap(), zipped.finish().unwrap().into_inner()] {
        let (_, unpacked) = unpacked(&archive, &ArchiveLimits::default());
        let unpacked = unpacked.unwrap();
        assert!(unpacked.members.is_empty() && !unpacked.skipped.is_empty());
        assert!(
            unpacked.skipped.iter().all(|one| one.reason == SkipReason::NotAFile),
            "{:?}",
            unpacked.skipped
        );
    }
}

#[test]
fn encrypted_members_are_named_and_the_others_unpacked() {
    let mut archive = zip(&[("secret.txt", b"x"), ("open.txt", b"Open.")]);
    let name = b"secret.txt";
    let places: Vec<usize> =
        archive.windows(name.len()).enumerate().filter(|(_, part)| part == name).map(|(at, _)| at).collect();
    // The flags of the member in its own head and in the directory.
    archive[places[0] - 30 + 6] |= 1;
    archive[places[1] - 46 + 8] |= 1;
    let (_, unpacked) = unpacked(&archive, &ArchiveLimits::default());
    let unpacked = unpacked.unwrap();
    assert_eq!(unpacked.skipped[0].reason, SkipReason::Encrypted);
    assert_eq!(
        unpacked.skipped[0].reason.to_string(),
        "it is encrypted: remove the password and upload it again"
    );
    assert_eq!((unpacked.members.len(), unpacked.members[0].path.as_str()), (1, "open.txt"));
}

#[test]
fn limits_stop_bombs_and_leave_nothing() {
    let zeros = vec![0; 40 << 20];
    let too_large = |what, limit| Err(ExtractError::TooLarge { kind: Kind::Archive, what, limit });
    for bomb in [zip(&[("a.txt", b"A."), ("b", &zeros)]), gzip(&tar(&[("a.txt", b"A."), ("b", &zeros)]))] {
        assert!(bomb.len() < 100_000);
        let (into, answer) = unpacked(&bomb, &ArchiveLimits::default());
        assert_eq!(answer, too_large(Excess::BytesUnpacked, 16 << 20));
        assert_eq!(count(into.path()), 0);

        let skipping = ArchiveLimits { member_bytes: 1 << 20, ..ArchiveLimits::default() };
        let (into, answer) = unpacked(&bomb, &skipping);
        // The rest of a skipped member of a packed tar must be unpacked to pass it.
        match answer {
            Ok(unpacked) => assert_eq!(unpacked.skipped[0].reason, SkipReason::TooLarge { limit: 1 << 20 }),
            Err(error) => assert_eq!(Err(error), too_large(Excess::BytesUnpacked, 16 << 20)),
        }
        assert!(count(into.path()) <= 1);
    }
    let few = ArchiveLimits { members: 2, ..ArchiveLimits::default() };
    for archive in [zip(&files()), tar(&files())] {
        let (into, answer) = unpacked(&archive, &few);
        assert_eq!(answer, too_large(Excess::FilesInside, 2));
        assert_eq!(count(into.path()), 0);
    }
}

#[test]
fn documents_that_are_zip_files_are_neither_archives_nor_nested() {
    let document = zip(&[("word/document.xml", b"<w:p><w:t>Oil.</w:t></w:p>")]);
    assert_eq!(detect("a", &document), Ok(Kind::Docx));
    let archive = zip(&[("word/documents.txt", b"x"), ("a.docx", &document)]);
    assert_eq!(detect("a", &archive), Ok(Kind::Archive));
    let (_, unpacked) = unpacked(&archive, &ArchiveLimits::default());
    let unpacked = unpacked.unwrap();
    assert_eq!((unpacked.members.len(), unpacked.skipped.len()), (2, 0));
}

#[test]
fn ten_thousand_members_are_unpacked() {
    let names: Vec<String> = (0..10_000).map(|number| format!("docs/{number}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    let started = Instant::now();
    for (name, archive) in [("a.zip", zip(&files)), ("a.tar.gz", gzip(&tar(&files)))] {
        let into = tempfile::tempdir().unwrap();
        let unpacked = extractor().unpack(name, &archive, into.path(), &ArchiveLimits::default()).unwrap();
        assert_eq!(unpacked.members.len(), 10_000);
        let last = &unpacked.members[9_999];
        assert_eq!((last.path.as_str(), last.size), ("docs/9999.txt", 13));
        let mut content = String::new();
        std::fs::File::open(&last.file).unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "docs/9999.txt");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn damaged_archives_are_answered_and_leave_no_stray_files() {
    let files: Vec<(&str, &[u8])> = vec![("a.txt", b"One."), ("b/c.txt", b"Two."), ("d.txt", b"Three.")];
    for archive in [zip(&files), tar(&files), gzip(&tar(&files))] {
        let into = tempfile::tempdir().unwrap();
        mutations::mutations(&archive, 500, |bytes| {
            let started = Instant::now();
            match unpack(&bytes, into.path(), &ArchiveLimits::default()) {
                Ok(unpacked) => {
                    assert_eq!(count(into.path()), unpacked.members.len());
                    unpacked.members.iter().for_each(|member| std::fs::remove_file(&member.file).unwrap());
                }
                Err(_) => assert_eq!(count(into.path()), 0),
            }
            assert!(started.elapsed() < Duration::from_secs(5));
        });
    }
}
