//! Documents in the shape of real ones.

use crate::document::Builder;
use crate::{Kind, Limits};

fn check(text: &str, expected: &[(&str, &str)]) {
    let mut builder = Builder::new(Kind::Tex, &Limits::default());
    super::read(text, &mut builder).unwrap();
    let blocks = builder.finish().unwrap().blocks;
    let found: Vec<(String, &str)> =
        blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(path, text)| (path.to_string(), *text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn sections_text_and_macros() {
    let text = r#"\documentclass{book} % class
\newcommand{\pump}[1]{Pump #1}
\begin{document}
\chapter{Pumps} \label{chap:pumps}
% A whole line of comment.
The \emph{main} pump---called \texttt{P-204}---turns at 50\% of
its ``speed''.\footnote{See \url{http://x.example/a_b}.}  See
Section~\ref{oil} and \href{http://x.example}{the page}.

The \app{stator} is $x^2 + \alpha$ wide, use \verb+a_b+ or \$5 \& more.
\section{Oil \& water}
\begin{code}
pump <- read("a")   % not a comment
  stop
\end{code}
Then \Program{}\ ends.
\end{document}
ignored"#;
    check(
        text,
        &[
            (
                "Pumps",
                "The main pump—called P-204—turns at 50% of its “speed”. (See http://x.example/a_b.) See Section “oil” and \
                 the page <http://x.example>.",
            ),
            ("Pumps", r"The stator is $x^2 + \alpha$ wide, use a_b or $5 & more."),
            ("Pumps > Oil & water", "```\npump <- read(\"a\")   % not a comment\n  stop\n```"),
            ("Pumps > Oil & water", "Then Program ends."),
        ],
    );
}

#[test]
fn lists_and_tables_are_lines() {
    let text = r"\section{S}
Steps:
\begin{enumerate}
\item Stop the
  pump.

  It takes a minute.
  \begin{verbatim}
pump stop
\end{verbatim}
\item Open it:
  \begin{itemize}
  \item slowly
  \end{itemize}
\end{enumerate}
\begin{description}
\item[head] Pressure.
\end{description}
\begin{table}
\begin{tabular}{lr} % two columns
\hline
Name & Speed \\ \hline
P-204 & 3\,000 \\
\multicolumn{2}{c}{none} \\
\end{tabular}
\caption{The pumps}
\end{table}";
    check(
        text,
        &[
            ("S", "Steps:"),
            (
                "S",
                "1. Stop the pump.\n  It takes a minute.\n  ```\n  pump stop\n  ```\n2. Open it:\n  - slowly",
            ),
            ("S", "- head: Pressure."),
            ("S", "Name: P-204; Speed: 3 000\nName: none"),
            ("S", "The pumps"),
        ],
    );
}

#[test]
fn arguments_of_unknown_commands_do_not_run_together() {
    let text = r"\section{S}
\moduleauthor{Ann Lee}{ann@example.com}
\declaremodule{}{pumps}
\begin{classdesc}{Pump}{speed, oil}
Turns.\end{classdesc}";
    check(text, &[("S", "Ann Lee ann@example.com pumps"), ("S", "Pump speed, oil Turns.")]);
}

#[test]
fn tex_is_told_from_other_texts() {
    assert!(super::looks_like("% x\n\\documentclass{article}\n"));
    assert!(super::looks_like("\\chapter{A}\n\\label{a}\n\\begin{itemize}\n"));
    assert!(!super::looks_like("A path: C:\\section{x}\n\\begin{x} is a command\n"));
}
