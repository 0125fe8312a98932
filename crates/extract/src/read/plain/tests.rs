//! Texts in the shapes in which they are found.

use super::*;
use crate::{Form, Kind, Limits};

fn blocks(text: &str) -> Vec<crate::Block> {
    let mut builder = Builder::new(Kind::Text, &Limits::default());
    read(text, &mut builder).unwrap();
    builder.finish().unwrap().blocks
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let blocks = blocks(text);
    let found: Vec<(String, &str)> =
        blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(path, text)| (path.to_string(), *text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn wrapped_prose_is_joined_and_lists_are_kept() {
    let text = "The impeller turns at a constant speed of three thousand\r\nrevolutions, whatever the load is, because \
                the gov-\r\nernor holds it.\r\n\r\n- oil\r\n- water\r\n \r\nEnd.";
    let blocks = blocks(text);
    let found: Vec<(&str, Form)> = blocks.iter().map(|block| (block.text.as_str(), block.form)).collect();
    let prose = "The impeller turns at a constant speed of three thousand revolutions, whatever the load is, because the \
                 governor holds it.";
    assert_eq!(found, [(prose, Form::Prose), ("- oil\n- water", Form::Lines), ("End.", Form::Prose)]);
    assert_eq!(blocks[1].offset, prose.len() + 2);
}

#[test]
fn numbered_underlined_and_capital_lines_are_headings() {
    let text = "PUMPS AND OIL\n\nOne.\n\n1. Oil\n\nTwo.\n\n1.2. The thick oil\n\nThree.\n\nWater\n=====\nFour.\n\nFive\n\nSix.";
    check(
        text,
        &[
            ("PUMPS AND OIL", "One."),
            ("PUMPS AND OIL > 1. Oil", "Two."),
            ("PUMPS AND OIL > 1. Oil > 1.2. The thick oil", "Three."),
            ("Water", "Four."),
            ("Water", "Five"),
            ("Water", "Six."),
        ],
    );
}

#[test]
fn steps_and_short_lines_are_no_headings() {
    let text = "1. Stop the pump.\n\n2. Open it, slowly, with the small key.\n\nIt is hot\n\n3 pumps\n\nEnd.";
    assert!(blocks(text).iter().all(|block| block.headings.is_empty()));
}

#[test]
fn a_quoted_paragraph_has_one_sign() {
    check(
        "> The pump turns at a constant speed, whatever\n> the load may be, because the governor\n> holds it.\n>\n> Ann",
        &[
            (
                "",
                "> The pump turns at a constant speed, whatever the load may be, because the governor holds it.",
            ),
            ("", "> Ann"),
        ],
    );
}

#[test]
fn lines_lose_the_indentation_that_all_have() {
    check("    $ stop\n    \u{a0}\u{a0}now\n      $ go", &[("", "$ stop\n  now\n  $ go")]);
}

#[test]
fn items_that_are_wrapped_are_one_line_each() {
    check(
        "It takes:\n  1. oil that is\n     thick\n  2. water\n     - cold",
        &[("", "It takes:"), ("", "1. oil that is thick\n2. water\n   - cold")],
    );
}

#[test]
fn rows_with_tabs_are_rows_however_long_they_are() {
    let text = "01/01\tThe first pump of the town is built beside the river, 1847\n01/02\tThe town agrees on a plan to keep\n\
                \tthe river clean, 1929\n01/03\tThe second pump of the town is built in the hills, 1931";
    check(
        text,
        &[(
            "",
            "01/01 | The first pump of the town is built beside the river, 1847\n01/02 | The town agrees on a plan to keep \
             the river clean, 1929\n01/03 | The second pump of the town is built in the hills, 1931",
        )],
    );
}

#[test]
fn records_are_rows() {
    let record =
        |name: &str, size: &str| format!("ID : {name}-1\n Name : {name}\n Size :\nMass : {size}\n//\n");
    let text = [record("A", "1"), record("B", "2"), record("C", "3")].concat();
    check(
        &text,
        &[
            ("", "ID: A-1; Name: A; Mass: 1"),
            ("", "ID: B-1; Name: B; Mass: 2"),
            ("", "ID: C-1; Name: C; Mass: 3"),
        ],
    );
}

#[test]
fn drawn_tables_are_tables() {
    let text = "+-----+-------+\n|Name |Speed  |\n|-----+-------|\n|P-204|three  |\n|     |hundred|\n|-----+-------|\n|P-205|12     |\n\
                |-----+-------|\n|P-206|13     |\n+-----+-------+";
    check(text, &[("", "Name: P-204; Speed: three hundred\nName: P-205; Speed: 12\nName: P-206; Speed: 13")]);
    check("| a | b |\n| 1 | 2 |\n| 3 | 4 |", &[("", "a: 1; b: 2\na: 3; b: 4")]);
}

#[test]
fn contents_and_running_heads_are_left_out() {
    let listed: String = (1..10).map(|number| format!("  1.{number}. Part {number}\n")).collect();
    check(&format!("{listed}\nWords."), &[("", "Words.")]);
    let page = |number: usize| {
        format!(
            "Pump Guide              {number}\n\nWords of page {number}.\n\nPump 3.6             May 2020\n\n"
        )
    };
    let text = format!("Oil ........ 3\nWater . . . . . 4\n\n{}{}{}", page(1), page(2), page(3));
    check(&text, &[("", "Words of page 1."), ("", "Words of page 2."), ("", "Words of page 3.")]);
}

#[test]
fn a_number_out_of_order_is_a_step() {
    check("Chapter\u{a0}1.\u{a0}Pumps\n\nOne.", &[("Chapter 1. Pumps", "One.")]);
    let text = "1.\u{a0}Oil\n\nOne.\n\n1.1.\u{a0}Thick oil\n\nTwo.\n\n7. Run the script\n\nThree.\n\n2.\u{a0}Water\n\nFour.";
    let found: Vec<String> = blocks(text).iter().map(|block| block.headings.join(" > ")).collect();
    let under_oil = "1. Oil > 1.1. Thick oil";
    assert_eq!(found, ["1. Oil", under_oil, under_oil, under_oil, "2. Water"]);
}

#[test]
fn comments_are_prose_without_their_signs() {
    check(
        "# The pump turns at a constant speed, whatever the\n# load may be, because the governor holds it.\nspeed 3000",
        &[(
            "",
            "# The pump turns at a constant speed, whatever the\n# load may be, because the governor holds it.\nspeed 3000",
        )],
    );
    check(
        "##### SPEED #####\n\n# The pump turns at a constant speed, whatever the\n# load may be, because the governor holds \
         it.\n#\n# Default:\n\nspeed 3000",
        &[
            (
                "SPEED",
                "The pump turns at a constant speed, whatever the load may be, because the governor holds it.",
            ),
            ("SPEED", "Default:"),
            ("SPEED", "speed 3000"),
        ],
    );
}
