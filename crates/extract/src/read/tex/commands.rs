//! What the commands of TeX mean to a reader of the text.

use super::scan::{Scan, Token};

pub(super) enum Meaning {
    Heading(u8),
    Begin,
    End,
    Item,
    Verbatim,
    /// A footnote.
    Aside,
    Link,
    /// The name of a place elsewhere in the document.
    Reference,
    /// Not shown, together with this many arguments.
    Skipped(usize),
    /// Of another command.
    Definition,
    Paragraph,
    Written(&'static str),
    Unknown,
}

pub(super) fn meaning(name: &str) -> Meaning {
    match name.trim_end_matches('*') {
        "part" => Meaning::Heading(1),
        "chapter" => Meaning::Heading(2),
        "section" => Meaning::Heading(3),
        "subsection" => Meaning::Heading(4),
        "subsubsection" => Meaning::Heading(5),
        "paragraph" | "subparagraph" => Meaning::Heading(6),
        "begin" => Meaning::Begin,
        "end" => Meaning::End,
        "item" => Meaning::Item,
        "verb" | "lstinline" => Meaning::Verbatim,
        "footnote" | "footnotetext" | "thanks" => Meaning::Aside,
        "href" => Meaning::Link,
        "par" | "newpage" | "clearpage" | "bigskip" | "medskip" | "smallskip" => Meaning::Paragraph,
        "ref" | "pageref" | "eqref" | "autoref" => Meaning::Reference,
        "label" | "index" | "cite" | "citep" | "citet" | "input" | "include" | "includegraphics"
        | "bibliography" | "bibliographystyle" | "vspace" | "hspace" | "pagestyle" | "thispagestyle"
        | "usepackage" | "documentclass" | "title" | "author" | "date" | "pagenumbering" | "setlength"
        | "addtolength" | "setcounter" | "addcontentsline" | "multicolumn" | "cline" | "fontsize"
        | "color" => Meaning::Skipped(skipped(name)),
        "newcommand" | "renewcommand" | "providecommand" | "def" | "newenvironment" => Meaning::Definition,
        "maketitle" | "tableofcontents" | "listoffigures" | "listoftables" | "centering" | "noindent"
        | "small" | "footnotesize" | "scriptsize" | "tiny" | "normalsize" | "large" | "Large" | "LARGE"
        | "huge" | "Huge" | "bf" | "it" | "tt" | "sf" | "rm" | "sl" | "sc" | "em" | "normalfont"
        | "bfseries" | "itshape" | "ttfamily" | "hline" | "toprule" | "midrule" | "bottomrule" | "hfill"
        | "vfill" | "pagebreak" | "linebreak" | "nopagebreak" | "raggedright" | "protect" | "leavevmode"
        | "null" | "relax" | "selectfont" | "appendix" | "frontmatter" | "mainmatter" | "backmatter"
        | "indent" | "sloppy" => Meaning::Skipped(0),
        "\\" | "newline" | "quad" | "qquad" | " " | "," | ";" | ":" | "\n" => Meaning::Written(" "),
        "ldots" | "dots" | "textellipsis" => Meaning::Written("…"),
        "LaTeX" => Meaning::Written("LaTeX"),
        "TeX" => Meaning::Written("TeX"),
        "textbackslash" | "backslash" => Meaning::Written("\\"),
        "textasciitilde" => Meaning::Written("~"),
        "textasciicircum" => Meaning::Written("^"),
        "S" => Meaning::Written("§"),
        "ss" => Meaning::Written("ß"),
        "copyright" => Meaning::Written("©"),
        "pounds" => Meaning::Written("£"),
        "dollar" | "$" => Meaning::Written("$"),
        "textendash" => Meaning::Written("–"),
        "textemdash" => Meaning::Written("—"),
        "%" => Meaning::Written("%"),
        "&" => Meaning::Written("&"),
        "#" => Meaning::Written("#"),
        "_" => Meaning::Written("_"),
        "{" => Meaning::Written("{"),
        "}" => Meaning::Written("}"),
        "-" | "/" | "@" | "!" | "(" | ")" | "[" | "]" | "\"" | "'" | "`" | "^" | "~" | "=" | "." | "c"
        | "v" | "u" | "H" => Meaning::Written(""),
        _ => Meaning::Unknown,
    }
}

fn skipped(name: &str) -> usize {
    match name {
        "setlength" | "addtolength" | "setcounter" | "multicolumn" | "fontsize" => 2,
        "addcontentsline" => 3,
        _ => 1,
    }
}

/// Returns the name of a place without the kind that it often begins with: "oil" of "sec:oil".
pub(super) fn reference(label: &str) -> String {
    format!("“{}”", label.split_once(':').map_or(label, |(_, name)| name))
}

/// Returns whether an environment shows code. Many documents define their own.
pub(super) fn is_code(environment: &str) -> bool {
    let lower = environment.to_ascii_lowercase();
    lower.contains("verbatim")
        || lower.contains("listing")
        || lower.ends_with("code")
        || matches!(lower.as_str(), "minted" | "script" | "alltt" | "console" | "shell" | "example")
}

/// Returns a short text without its commands.
pub(super) fn plain(text: &str) -> String {
    let mut scan = Scan::new(text);
    let mut shown = String::new();
    while let Some(token) = scan.next() {
        match token {
            Token::Text(text) | Token::Formula(text) => shown.push_str(text),
            Token::Paragraph => shown.push(' '),
            Token::Command(name) => match meaning(name) {
                Meaning::Written(text) => shown.push_str(text),
                Meaning::Verbatim => shown.push_str(scan.verbatim()),
                Meaning::Skipped(arguments) => scan.skip_arguments(arguments),
                Meaning::Definition => scan.skip_definition(),
                Meaning::Link => scan.skip_arguments(1),
                Meaning::Reference => shown.push_str(&reference(scan.argument().unwrap_or_default())),
                Meaning::Unknown => scan.after_unknown(name, &mut shown),
                _ => {}
            },
        }
    }
    crate::clean::prose(&shown)
}
