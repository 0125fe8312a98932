//! What holds within a group of RTF and ends with it.

/// Where the text of a group goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Destination {
    Body,
    Note,
    /// The mark of a list item.
    Mark,
    Title,
    Author,
    Fonts,
    Styles,
    /// Pictures, fields' instructions, heads and feet, and what is not known.
    Nowhere,
}

/// The state at a place in the file.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub destination: Destination,
    pub font: i32,
    /// How many characters after a Unicode one repeat it for old readers.
    pub repeats: usize,
    pub is_hidden: bool,
    pub is_deleted: bool,
    pub is_in_table: bool,
    pub style: i32,
    pub outline_level: Option<u8>,
    /// The level of a list item.
    pub indent: usize,
}

impl Group {
    pub fn new() -> Self {
        Self {
            destination: Destination::Body,
            font: -1,
            repeats: 1,
            is_hidden: false,
            is_deleted: false,
            is_in_table: false,
            style: 0,
            outline_level: None,
            indent: 0,
        }
    }

    /// Sets the properties of a paragraph to those of none.
    pub fn begin_paragraph(&mut self) {
        (self.is_in_table, self.style, self.outline_level, self.indent) = (false, 0, None, 0);
    }

    pub fn is_shown(&self) -> bool {
        !self.is_hidden && !self.is_deleted
    }
}

/// Returns where the text of a group goes that begins with this word. None if the word does not say.
pub(super) fn destination(word: &str) -> Option<Destination> {
    Some(match word {
        "fonttbl" => Destination::Fonts,
        "stylesheet" => Destination::Styles,
        "title" => Destination::Title,
        "author" => Destination::Author,
        "footnote" => Destination::Note,
        "listtext" | "pntext" => Destination::Mark,
        // Text boxes, which are in a group that old readers pass over.
        "shpinst" | "shptxt" => Destination::Body,
        "colortbl" | "info" | "pict" | "nonshppict" | "shprslt" | "sp" | "header" | "headerl" | "headerr"
        | "headerf" | "footer" | "footerl" | "footerr" | "footerf" | "ftnsep" | "ftnsepc" | "ftncn"
        | "aftnsep" | "aftnsepc" | "aftncn" | "fldinst" | "tc" | "tcn" | "xe" | "rxe" | "txe"
        | "nonesttables" | "objdata" | "annotation" | "filetbl" | "revtbl" | "subject" | "keywords"
        | "operator" | "doccomm" | "comment" | "company" | "manager" | "category" | "hlinkbase"
        | "creatim" | "revtim" | "printim" | "buptim" | "private" | "falt" | "panose" | "fontemb" | "do" => {
            Destination::Nowhere
        }
        _ => return None,
    })
}

/// Returns the text that a word stands for.
pub(super) fn written(word: &str) -> Option<&'static str> {
    Some(match word {
        "tab" => "\t",
        "line" => "\n",
        "emdash" => "—",
        "endash" => "–",
        "lquote" => "‘",
        "rquote" => "’",
        "ldblquote" => "“",
        "rdblquote" => "”",
        "bullet" => "•",
        "emspace" | "enspace" | "qmspace" => " ",
        _ => return None,
    })
}
