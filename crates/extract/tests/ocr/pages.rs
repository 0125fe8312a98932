//! Pages for the tests: typeset as a PDF, drawn by `pdftoppm`, and put into files as a scanner would.

use std::io::Write;
use std::process::{Command, Stdio};

#[path = "../files/samples.rs"]
#[allow(dead_code, reason = "made for other tests")]
mod samples;

/// Returns a page with a heading and these lines in a font that every drawing program has.
pub fn typeset(heading: &str, lines: &[&str]) -> Vec<u8> {
    let lines: String = lines.iter().map(|line| format!("0 -17 Td ({line}) Tj ")).collect();
    let content = format!("BT /F1 22 Tf 72 720 Td ({heading}) Tj /F1 11 Tf 0 -20 Td {lines} ET");
    samples::pdf_of(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 1/Kids[5 0 R]/MediaBox[0 0 612 792]>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<<>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Contents 6 0 R/Resources<</Font<</F1 3 0 R>>>>>>".to_owned(),
        format!("<</Length {}>>stream\n{content}\nendstream\n", content.len()),
    ])
}

/// Draws the page of a PDF as `pdftoppm` does with these options.
pub fn drawn(pdf: &[u8], options: &[&str]) -> Vec<u8> {
    let mut command = Command::new("pdftoppm");
    let mut drawing =
        command.args(options).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drawing.stdin.take().unwrap().write_all(pdf).unwrap();
    drawing.wait_with_output().unwrap().stdout
}

/// A page as pixels, one byte each.
#[derive(Clone)]
pub struct Gray {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

impl Gray {
    /// Turns the page by a quarter, clockwise.
    pub fn turned(&self) -> Gray {
        let column = |x: usize| (0..self.height).rev().map(move |y| self.pixels[y * self.width + x]);
        Gray { width: self.height, height: self.width, pixels: (0..self.width).flat_map(column).collect() }
    }
}

pub fn gray(pdf: &[u8], dots: &str) -> Gray {
    let pgm = drawn(pdf, &["-gray", "-r", dots]);
    let head: Vec<&[u8]> = pgm.splitn(4, |byte| *byte == b'\n').collect();
    let sides: Vec<usize> =
        String::from_utf8_lossy(head[1]).split(' ').map(|side| side.parse().unwrap()).collect();
    Gray { width: sides[0], height: sides[1], pixels: head[3].to_vec() }
}

/// Returns an uncompressed TIFF of these pages.
pub fn tiff(pages: &[Gray]) -> Vec<u8> {
    let mut file = b"II*\0\0\0\0\0".to_vec();
    let mut pointer = 4;
    for page in pages {
        let data = file.len() as u32;
        file.extend_from_slice(&page.pixels);
        file.resize(file.len().next_multiple_of(2), 0);
        let directory = file.len() as u32;
        file[pointer..pointer + 4].copy_from_slice(&directory.to_le_bytes());
        let (width, height) = (page.width as u32, page.height as u32);
        let entries = [
            (256, width),
            (257, height),
            (258, 8),
            (259, 1),
            (262, 1),
            (273, data),
            (277, 1),
            (278, height),
            (279, width * height),
        ];
        file.extend_from_slice(&(entries.len() as u16).to_le_bytes());
        for (tag, value) in entries {
            file.extend_from_slice(&[u16::to_le_bytes(tag), u16::to_le_bytes(4)].concat());
            file.extend_from_slice(&[1_u32.to_le_bytes(), value.to_le_bytes()].concat());
        }
        pointer = file.len();
        file.extend_from_slice(&[0; 4]);
    }
    file
}

/// A picture in a PDF.
pub struct Scan {
    entries: String,
    content: Vec<u8>,
}

const PICTURE: &str = "/Type/XObject/Subtype/Image/BitsPerComponent 8/ColorSpace/DeviceGray";

impl Scan {
    pub fn of(page: &Gray) -> Self {
        let entries = format!("{PICTURE}/Width {}/Height {}", page.width, page.height);
        Self { entries, content: page.pixels.clone() }
    }

    /// Returns a photograph of a page, as it is in the file of a scanner.
    pub fn photograph(pdf: &[u8]) -> Self {
        let entries = format!("{PICTURE}/Width 1275/Height 1650/Filter/DCTDecode");
        Self { entries, content: drawn(pdf, &["-jpeg", "-gray", "-r", "150"]) }
    }
}

/// Returns a PDF of pages: text that is typeset, or a scan that fills the page.
pub fn pdf(pages: &[Result<&str, &Scan>]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 5 + 3 * page)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {}/Kids[{}]/MediaBox[0 0 612 792]>>", pages.len(), kids.join(" "))
            .into_bytes(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
        b"<<>>".to_vec(),
    ];
    let stream = |entries: &str, content: &[u8]| {
        let head = format!("<<{entries}/Length {}>>stream\n", content.len());
        [head.as_bytes(), content, b"\nendstream"].concat()
    };
    for (page, content) in pages.iter().enumerate() {
        let first = 5 + 3 * page;
        let resources = format!("/Font<</F1 3 0 R>>/XObject<</I {} 0 R>>", first + 2);
        objects.push(
            format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R/Resources<<{resources}>>>>", first + 1)
                .into_bytes(),
        );
        match content {
            Ok(text) => {
                objects.push(stream("", format!("BT /F1 11 Tf 72 700 Td ({text}) Tj ET").as_bytes()));
                // A picture beside its text makes no scan of a page.
                objects.push(stream(&format!("{PICTURE}/Width 1/Height 1"), b"x"));
            }
            Err(scan) => {
                objects.push(stream("", b"q 612 0 0 792 0 0 cm /I Do Q"));
                objects.push(stream(&scan.entries, &scan.content));
            }
        }
    }
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in (1..).zip(&objects) {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let (start, size) = (file.len(), objects.len() + 1);
    let end = format!("xref\n0 {size}\n{table}trailer<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF");
    file.extend_from_slice(end.as_bytes());
    file
}
