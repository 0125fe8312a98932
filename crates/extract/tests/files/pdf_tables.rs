//! Tables and columns of PDFs, typeset here: letters are half as wide as they are high.

use crate::formats::{check, read};
use crate::samples;

/// Sets a text in 10 points with its left edge and its baseline here.
fn set(x: u32, y: u32, text: &str) -> String {
    format!("BT /F1 10 Tf {x} {y} Td ({text}) Tj ET\n")
}

/// Draws a line.
fn rule(from: (u32, u32), to: (u32, u32)) -> String {
    format!("{} {} m {} {} l S\n", from.0, from.1, to.0, to.1)
}

/// Draws the lines of a table.
fn grid(xs: &[u32], ys: &[u32]) -> String {
    let (left, right) = (xs[0], xs[xs.len() - 1]);
    let (top, bottom) = (ys[0], ys[ys.len() - 1]);
    let level = ys.iter().map(|y| rule((left, *y), (right, *y)));
    level.chain(xs.iter().map(|x| rule((*x, top), (*x, bottom)))).collect()
}

fn text_of(content: &str) -> Vec<String> {
    read("a.pdf", &samples::pdf(&[content])).blocks.into_iter().map(|block| block.text).collect()
}

#[test]
fn cells_between_ruled_lines_stay_together_also_if_they_are_wrapped_and_centred() {
    let cells = [
        set(52, 690, "Pump"),
        set(112, 690, "Use"),
        set(262, 690, "Speed"),
        // The long cell begins above the others, which are in the middle of the row.
        set(112, 674, "Main pump of the cooling"),
        set(52, 668, "P-204"),
        set(262, 668, "3000"),
        set(112, 662, "circuit"),
        set(52, 644, "P-205"),
        set(262, 644, "1500"),
    ];
    let page = [
        set(50, 740, "The pumps of the plant are listed in the table below, with their speed."),
        grid(&[50, 110, 260, 320], &[702, 686, 656, 640]),
        cells.concat(),
        set(50, 610, "All of them are repaired in the workshop of the plant, within a week."),
    ];
    check(
        &read("a.pdf", &samples::pdf(&[&page.concat()])),
        &[
            ("", Some(1), "The pumps of the plant are listed in the table below, with their speed."),
            (
                "",
                Some(1),
                "Pump: P-204; Use: Main pump of the cooling circuit; Speed: 3000\nPump: P-205; Speed: 1500",
            ),
            ("", Some(1), "All of them are repaired in the workshop of the plant, within a week."),
        ],
    );
}

#[test]
fn a_row_between_lines_is_one_if_a_sentence_runs_through_its_lines() {
    let cells = [
        set(52, 690, "Night Goggles"),
        set(152, 690, "They show what is in the dark."),
        set(52, 668, "Survey"),
        set(152, 668, "It unlocks all areas of the map, some"),
        set(52, 656, "Map"),
        set(152, 656, "of which may not be visible."),
        set(52, 634, "Suit"),
        set(152, 634, "It protects you."),
    ];
    let page = grid(&[50, 150, 360], &[702, 682, 648, 626]) + &cells.concat();
    assert_eq!(
        text_of(&page),
        [
            "Night Goggles | They show what is in the dark.\nSurvey Map | It unlocks all areas of the map, some of which \
          may not be visible.\nSuit | It protects you."
        ]
    );
}

#[test]
fn lines_that_go_on_below_all_of_their_cells_are_one_row() {
    let page = [
        set(50, 700, "Shotgun"),
        set(150, 700, "These traded their old pistol for a big shotgun and also have much"),
        set(50, 687, "Zombie"),
        set(150, 687, "more of a punch."),
        set(50, 666, "Imp"),
        set(150, 666, "It throws fire."),
        set(50, 645, "Worm"),
        set(150, 645, "It bites."),
    ];
    assert_eq!(
        text_of(&page.concat()),
        [
            "Shotgun Zombie | These traded their old pistol for a big shotgun and also have much more of a punch.\nImp | \
          It throws fire.\nWorm | It bites."
        ]
    );
}

#[test]
fn a_phrase_across_columns_without_a_line_between_them_is_not_cut() {
    let cells = [
        set(52, 690, "Pump"),
        set(112, 690, "Least"),
        set(172, 690, "Most"),
        set(52, 670, "Operating pressure limits"),
        set(52, 650, "P-204"),
        set(112, 650, "2 bar"),
        set(172, 650, "9 bar"),
    ];
    let uprights = |x: u32| rule((x, 702), (x, 682)) + &rule((x, 662), (x, 642));
    let level: String = [702, 682, 662, 642].iter().map(|y| rule((50, *y), (230, *y))).collect();
    let page =
        level + &rule((50, 702), (50, 642)) + &rule((230, 702), (230, 642)) + &uprights(110) + &uprights(170);
    let text = text_of(&(page + &cells.concat())).join("\n");
    assert!(text.contains("Operating pressure limits"), "{text}");
    assert!(text.contains("Pump: P-204; Least: 2 bar; Most: 9 bar"), "{text}");
}

#[test]
fn rows_without_lines_between_them_are_told_apart() {
    let rows: String = (0..3)
        .map(|row| {
            set(52, 668 - 12 * row, &format!("P-20{row}")) + &set(112, 668 - 12 * row, &format!("300{row}"))
        })
        .collect();
    let head = set(52, 690, "Pump") + &set(112, 690, "Speed");
    let page = grid(&[50, 110, 170], &[702, 684, 640]) + &head + &rows;
    let expected = "Pump: P-200; Speed: 3000\nPump: P-201; Speed: 3001\nPump: P-202; Speed: 3002";
    assert_eq!(text_of(&page), [expected]);
}

#[test]
fn a_drawing_with_few_labels_is_no_table() {
    let page = grid(&[50, 100, 150, 200, 250, 300], &[700, 680, 660, 640, 620, 600])
        + &set(52, 685, "high")
        + &set(102, 665, "more")
        + &set(152, 645, "less")
        + &set(202, 625, "little")
        + &set(52, 605, "low")
        + &set(50, 580, "The pressure falls with the distance from the pump, as the figure shows.");
    assert_eq!(
        text_of(&page).join(" ").split(' ').take(5).collect::<Vec<_>>(),
        ["high", "more", "less", "little", "low"]
    );
    assert!(!text_of(&page).iter().any(|text| text.contains('\n')), "{:?}", text_of(&page));
}

#[test]
fn cells_are_in_their_columns_also_if_others_are_empty() {
    let row = |y: u32, cells: [&str; 3]| {
        let cells = [50, 200, 350].into_iter().zip(cells).filter(|(_, text)| !text.is_empty());
        cells.map(|(x, text)| set(x, y, text)).collect::<String>()
    };
    let page = row(700, ["Pump", "Hall", "Speed"])
        + &row(686, ["P-204", "north", "3000"])
        + &row(672, ["P-205", "", "1500"])
        + &row(658, ["1.", "south", "2900"]);
    assert_eq!(
        text_of(&page),
        [
            "Pump: P-204; Hall: north; Speed: 3000\nPump: P-205; Speed: 1500\nPump: 1.; Hall: south; Speed: 2900"
        ]
    );
}

#[test]
fn wrapped_cells_are_joined_and_short_ones_are_rows_of_their_own() {
    let page = [
        set(50, 700, "Pump"),
        set(120, 700, "Use"),
        set(295, 700, "Speed"),
        set(50, 686, "P-204"),
        set(120, 686, "Main pump of the cooling circuit"),
        set(295, 686, "3000"),
        set(120, 674, "of hall two"),
        set(50, 660, "P-205"),
        set(120, 660, "Spare"),
        set(295, 660, "1500"),
        set(120, 646, "Unused"),
        set(295, 646, "1400"),
    ];
    assert_eq!(
        text_of(&page.concat()),
        [
            "Pump: P-204; Use: Main pump of the cooling circuit of hall two; Speed: 3000\nPump: P-205; Use: Spare; \
          Speed: 1500\nUse: Unused; Speed: 1400"
        ]
    );
}

#[test]
fn two_columns_are_read_one_after_the_other_also_with_a_table_and_a_stretched_line() {
    let left: String = (0..12)
        .map(|line| set(50, 700 - 14 * line, &format!("left words of line {line:02} go on and on,")))
        .collect();
    // The third line of the right column is set to its full width with three words.
    let right: String = (0..6)
        .map(|line| match line {
            2 => set(320, 672, "stretched") + &set(412, 672, "out") + &set(493, 672, "wide"),
            _ => set(320, 700 - 14 * line, &format!("right words of line {line:02} go on and on")),
        })
        .collect();
    let table = grid(&[318, 380, 440], &[620, 604, 588])
        + &set(320, 608, "Pump")
        + &set(382, 608, "Speed")
        + &set(320, 592, "P-204")
        + &set(382, 592, "3000");
    let heading = "BT /F1 20 Tf 50 740 Td (A title above both of the columns) Tj ET\n";
    let texts = text_of(&format!("{heading}{right}{table}{left}"));
    let whole = texts.join("\n");
    let places: Vec<Option<usize>> =
        ["line 00", "line 11", "right words", "on stretched out wide right", "Pump: P-204; Speed: 3000"]
            .iter()
            .map(|part| whole.find(part))
            .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {whole}");
}
