//! Tests of the parts of texts.

use super::*;

fn check(text: &str, expected: &[&str]) {
    let shown = |unit: &Unit| {
        let leads: Vec<&str> = unit.leads.iter().map(|lead| text[lead.clone()].trim()).collect();
        let text = text[unit.range.clone()].trim();
        if leads.is_empty() { text.to_owned() } else { format!("{} > {text}", leads.join(" > ")) }
    };
    let found: Vec<String> = units(text).iter().map(shown).collect();
    assert_eq!(found, expected);
}

#[test]
fn sentences_are_separate_unless_they_refer_to_the_one_before() {
    check("The pump is blue. Seals are grey.", &["The pump is blue.", "Seals are grey."]);
    check("The pump is blue. It was built in Turin.", &["The pump is blue. It was built in Turin."]);
    check("Avifile is off. It's because gcc fails.", &["Avifile is off. It's because gcc fails."]);
    check("", &[]);
}

#[test]
fn a_title_belongs_to_the_paragraph_below_it() {
    check("Seals\nReplace them every year.", &["Seals > Replace them every year."]);
    check("One\n\nTwo\n\nReplace it.", &["Two > Replace it."]);
    check("Chapter 11", &["Chapter 11"]);
    check("Q: It fails. Why?\n\nA: Use -o.", &["Q: It fails. Why? > A: Use -o."]);
}

#[test]
fn a_numbered_heading_is_no_list() {
    check(
        "It is not immune.\n\n1. File overwrite\n\nAny process can write.",
        &["It is not immune.", "1. File overwrite", "1. File overwrite > Any process can write."],
    );
    check("Do this.\n\n1. Open it.\n\nWait.", &["Do this.", "Do this. > 1. Open it.", "Wait."]);
}

#[test]
fn rows_are_parts_but_broken_lines_are_not() {
    let table = "variable: IDLE_TIMEOUT; default: 75s; meaning: How long it may stay open\n\
        variable: JWT_TTL; default: 1h; meaning: How long a token is valid";
    check(table, &table.lines().collect::<Vec<_>>());
    let commands =
        "stoa serve           everything in one process, as it is\nstoa check           reach all of them";
    check(commands, &commands.lines().collect::<Vec<_>>());
    let broken =
        "A paragraph that was written with lines of some eighty letters\nis one sentence all the same.";
    check(broken, &[broken]);
    let apart =
        "- Shutdown on Finish will shut down the computer at the end of\n\nconversion, on most systems.";
    check(apart, &[apart]);
}

#[test]
fn what_introduces_a_list_a_command_or_a_line_of_code_is_its_lead() {
    check(
        "Snek is small. Our machine has:\n\n- 32kB of Flash\n- 2kB of RAM\n\nI like it.",
        &[
            "Snek is small.",
            "Our machine has: > - 32kB of Flash\n- 2kB of RAM",
            "Our machine has: > - 32kB of Flash",
            "Our machine has: > - 2kB of RAM",
            "I like it.",
        ],
    );
    check("Test it with:\n\nupsmon -c fsd\n\nThen wait.", &["Test it with: > upsmon -c fsd", "Then wait."]);
    check(
        "y = 0\n\n# delay between moves\n\nmove_delay = 0.0250\n\n# columns\n\nx = 4",
        &["y = 0", "# delay between moves > move_delay = 0.0250", "# columns > x = 4"],
    );
}

#[test]
fn an_indented_setting_has_the_keys_above_it() {
    check(
        "engine:\n  default: CFM56\n  options:\n    A320-232: V2527\ndrag: 4",
        &["engine: > default: CFM56", "engine: > options: > A320-232: V2527", "drag: 4"],
    );
}

#[test]
fn the_lines_of_a_record_are_one_part() {
    check(
        "code: AMD\nname: Dram\n\ncode: ANG\nname: Guilder",
        &["code: AMD\nname: Dram", "code: ANG\nname: Guilder"],
    );
}

#[test]
fn fenced_code_is_one_part() {
    check("Run this:\n```sh\nmake\nmake test\n```", &["Run this: > ```sh\nmake\nmake test\n```"]);
}

#[test]
fn pictures_are_known_by_their_lines() {
    assert!(is_drawing("strict framing,             request id,"));
    assert!(is_drawing("a ─ b"));
    assert!(!is_drawing("stoa completions SHELL     completions for bash, zsh, fish"));
}

#[test]
fn an_endless_sentence_is_split_between_words() {
    let endless = "wörter ohne ende ".repeat(1000);
    let found = units(&endless);
    assert!(found.len() > 10 && found.iter().all(|unit| unit.range.len() <= LONGEST));
    assert_eq!(found.iter().map(|unit| &endless[unit.range.clone()]).collect::<String>(), endless.trim_end());
    for blank in ["", "\u{a0}", "\u{3000}", " "] {
        let text = format!("ö{blank}").repeat(5000);
        let found = units(&text);
        assert!(
            found.iter().all(|unit| unit.range.len() <= LONGEST && text.get(unit.range.clone()).is_some())
        );
    }
}

#[test]
fn an_answer_below_its_question_is_one_part() {
    check(
        "Q: Is the cache kept?\n\nA: No, it is not. Most names expire soon.",
        &["Q: Is the cache kept? > A: No, it is not. Most names expire soon."],
    );
    check(
        "How do I switch it off?\nTurn it. Wait a minute.",
        &["How do I switch it off? > Turn it. Wait a minute."],
    );
    check("Which port is it?\n\n8080\n\nGo on.", &["Which port is it? > 8080", "Go on."]);
    check("48 It is cold. Where is it set?\n\nIn a file.", &["48 It is cold. Where is it set? > In a file."]);
    let heading = "A heading that is as long as a line of a letter is at most";
    let text = "Seals are grey and are checked by the team in every week of the year, ".repeat(2) + "or so.";
    check(&format!("{heading}\n{text}\n{heading}\n{text}"), &[heading, &text, heading, &text]);
}

#[test]
fn a_sentence_without_an_end_introduces_the_command_below_it() {
    check(
        "Each ends with the line\n\n999.0 999.0\n\nGo on.",
        &["Each ends with the line > 999.0 999.0", "Go on."],
    );
    check(
        "There are some flags, so it is possible to do a\n\nrpmbuild --without oss",
        &["There are some flags, so it is possible to do a > rpmbuild --without oss"],
    );
    check(
        "In sh and in bash it is this line:\n\nLANGUAGE=fr ; export LANGUAGE\n\nThen start it.",
        &["In sh and in bash it is this line: > LANGUAGE=fr ; export LANGUAGE", "Then start it."],
    );
    check(
        "Weight is kept in two ways;\n\n- by hand\n- by a scale",
        &[
            "Weight is kept in two ways; > - by hand\n- by a scale",
            "Weight is kept in two ways; > - by hand",
            "Weight is kept in two ways; > - by a scale",
        ],
    );
}

#[test]
fn a_long_entry_is_split_and_its_sentences_keep_the_term() {
    let more = "Seals are grey and are checked by the team in every week of the year. ".repeat(6);
    let text = format!("- seals, -s: Replace the seals. {}", more.trim_end());
    let found = units(&text);
    assert_eq!(found.len(), 7);
    assert_eq!(&text[found[0].range.clone()], "- seals, -s: Replace the seals.");
    assert_eq!(&text[found[6].leads[0].clone()], "- seals, -s:");
}

#[test]
fn a_row_with_named_columns_is_one_part_whatever_its_cells_have() {
    check(
        "Flag (Dec): 512; Description: Disable the key file. Keep it so.\nplace.city: Lyon; notes: First of all. It rained.",
        &[
            "Flag (Dec): 512; Description: Disable the key file. Keep it so.",
            "place.city: Lyon; notes: First of all. It rained.",
        ],
    );
    check(
        "Take this into account: a cold pump leaks; heat it first. Then start it.",
        &["Take this into account: a cold pump leaks; heat it first.", "Then start it."],
    );
}
