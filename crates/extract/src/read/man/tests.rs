//! Pages in the shape of real ones.

use crate::document::Builder;
use crate::{Document, Kind, Limits};

fn page(text: &str) -> Document {
    let mut builder = Builder::new(Kind::ManPage, &Limits::default());
    super::read(text, &mut builder).unwrap();
    builder.finish().unwrap()
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let document = page(text);
    let found: Vec<(String, &str)> =
        document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(path, text)| (path.to_string(), *text)).collect();
    assert_eq!(found, expected);
}

const PUMP: &str = r#".\" A comment
.TH PUMPCTL 1 "2024-01-01" "pump 1.0"
.ie \n(.g .ds Aq \(aq
.el .ds Aq '
.de XX
.B hidden
..
.SH NAME
pumpctl \- start and stop a pump
.SH "SEE WHAT IT DOES"
The pump\*(Aqs
.B speed
is set with
.BR setspeed (1).
It is
.IR constant ,
whatever the load.
.if t .B printed only
.PP
Run
.nf

    pumpctl start
.fi
.SS Options
.TP
\fB\-f\fR, \fB\-\-force\fR
Stop at once.
.IP
Even if it is hot.
.TP
.BI \-s " speed"
Set the speed:
.RS
.IP \(bu 2
slow
.IP \(bu 2
fast
.RE
.TP
.B \-a
.TQ
.B \-\-all
All pumps.
.PP
That is all.
"#;

#[test]
fn sections_are_headings_and_options_stand_beside_their_descriptions() {
    check(
        PUMP,
        &[
            ("NAME", "pumpctl - start and stop a pump"),
            (
                "SEE WHAT IT DOES",
                "The pump's speed is set with setspeed(1). It is constant, whatever the load.",
            ),
            ("SEE WHAT IT DOES", "Run"),
            ("SEE WHAT IT DOES", "```\n    pumpctl start\n```"),
            (
                "SEE WHAT IT DOES > Options",
                "- -f, --force: Stop at once.\n  Even if it is hot.\n- -s speed: Set the speed:\n  - slow\n  - fast\n\
                 - -a, --all: All pumps.",
            ),
            ("SEE WHAT IT DOES > Options", "That is all."),
        ],
    );
    assert_eq!(page(PUMP).title.as_deref(), Some("pumpctl(1)"));
}

#[test]
fn mdoc_is_read_too() {
    let text = r#".Dd January 1, 2024
.Dt PUMPCTL 8
.Os
.Sh NAME
.Nm pumpctl
.Nd start and stop a pump
.Sh SYNOPSIS
.Nm
.Op Fl fn
.Op Fl s Ar speed
.Ar pump ...
.Sh DESCRIPTION
The
.Nm
utility reads
.Pa /etc/pump.conf ,
see
.Xr pump.conf 5 .
.Bl -tag -width indent
.It Fl f
Stop at once
.Pq even if hot .
.It Fl s Ar speed
Set the speed.
.El
.Pp
Or:
.Bd -literal
pumpctl -f
.Ed
"#;
    check(
        text,
        &[
            ("NAME", "pumpctl - start and stop a pump"),
            ("SYNOPSIS", "pumpctl [-fn] [-s speed] pump ..."),
            ("DESCRIPTION", "The pumpctl utility reads /etc/pump.conf, see pump.conf(5)."),
            ("DESCRIPTION", "- -f: Stop at once (even if hot).\n- -s speed: Set the speed."),
            ("DESCRIPTION", "Or:"),
            ("DESCRIPTION", "```\npumpctl -f\n```"),
        ],
    );
}

#[test]
fn tables_have_rows_with_the_names_of_their_columns() {
    let text = ".TH X 1\n.SH T\n.TS\nallbox tab(:);\nlb lb.\nName:Speed\n_\nP\\-204:T{\nthree\n.B thousand\nT}\nP\\-205:12\n.TE\nEnd.\n";
    check(text, &[("T", "Name: P-204; Speed: three thousand\nName: P-205; Speed: 12"), ("T", "End.")]);
}

#[test]
fn pages_are_told_from_other_texts() {
    let is_page = |text: &str| super::looks_like("txt", text);
    assert!(is_page(PUMP) && is_page("'\\\" t\n\\\" x\n.Dd May 1\n.Dt A 1\n"));
    assert!(!is_page("Plain words.\n.TH X 1\n") && !is_page(".hidden { color: red }\n"));
    let comment = ".\\\" A licence\n".repeat(100);
    assert!(super::looks_like("1", &comment) && !is_page(&comment));
}

#[test]
fn terms_may_be_paragraphs_above_moved_text() {
    let text = ".TH X 1\n.SH OPTIONS\n.PP\n\\fB\\-a\\fR, \\fB\\-\\-all\\fR\n.RS 4\nShow all\\&.\n.PP\nReally all\\&.\n.RE\n.PP\n\
                \\fB\\-b\\fR\n.RS 4\nShow less\\&.\n.RE\n.PP\nThat is all\\&.\n";
    check(
        text,
        &[
            ("OPTIONS", "- -a, --all: Show all.\n  Really all.\n- -b: Show less."),
            ("OPTIONS", "That is all."),
        ],
    );
    // Asciidoctor's pages have mere gaps between the items.
    let text = text.replace(".PP", ".sp");
    let all = page(&text).blocks.iter().map(|block| block.text.clone()).collect::<Vec<String>>().join("\n");
    assert!(all.contains("\n- -b: Show less."), "{all}");
}

#[test]
fn lines_with_tabs_are_rows() {
    let text = ".TH X 1\n.SH S\n.br\nfield\tvalues\n.br\n-----\t-----\n.br\nminute\t0-59\n.br\nhour\t0-23\n";
    check(text, &[("S", "field: minute; values: 0-59\nfield: hour; values: 0-23")]);
}

#[test]
fn a_comment_behind_a_definition_is_not_the_name_of_its_end() {
    check(
        ".ig \\\" left out\nA licence.\n..\n.de Sp \\\" a space\n.sp\n..\n.TH PUMP 1\n.SH NAME\npump \\- moves water\n",
        &[("NAME", "pump - moves water")],
    );
}
