//! The mentions of documents: one key for one entity in every spelling, and its kind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test stops where it fails")]

use graph::{Kind, Mention, Passage, mentions, names_in};

fn found(title: &str, text: &str) -> Vec<Mention> {
    mentions(title, &[Passage { text, headings: &[], is_code: false }])
}

fn get<'m>(mentions: &'m [Mention], key: &str) -> &'m Mention {
    let keys: Vec<&str> = mentions.iter().map(|mention| mention.key.as_str()).collect();
    mentions
        .iter()
        .find(|mention| mention.key == key)
        .unwrap_or_else(|| panic!("`{key}` is not among {keys:?}"))
}

#[test]
fn a_passage_that_names_a_title_shares_a_key_with_it() {
    let cases = [
        ("Teutberga", "His first wife was Queen Teutberga of the Franks."),
        ("Lothair II", "She was the mother of King Lothair II of Lotharingia."),
        ("Lothair II of Lotharingia", "She was the mother of Lothair II."),
        ("Theodred II (Bishop of Elmham)", "He was followed by Theodred II as bishop."),
        ("Hugh, King of Italy", "The land was taken by King Hugh of Italy in that year."),
        ("Maurice, Prince of Orange", "He served under Maurice of Orange for years."),
        ("Roger W. Straus", "The firm was led by Roger Straus until then."),
        ("A. A. Milne", "The bear was made up by A. A. Milne for his son."),
        ("A Day Out", "He appeared in A Day Out and in other plays."),
        ("The Straw Hat", "She is known for the film The Straw Hat of 1971."),
        ("Back to the Mill", "He wrote the song \"Back to the Mill\" for her."),
        ("Sir Thomas Wheate, 1st Baronet", "The house was built by Thomas Wheate himself."),
        ("Persian Letters", "It is a reply to the Persian Letters of 1721."),
        ("Darius III", "They fought against the Persian King Darius III at sea."),
        ("Alexander the Great", "The town was taken by Alexander the Great in spring."),
        ("Albert Édouard Le Brethon", "It was found by Albert Edouard Le Brethon in a cellar."),
        ("Boundary layer control", "A Boundary Layer Control (BLC) was fitted. The BLC failed."),
        ("Pump P-204", "Close the valve before pump P-204 is opened."),
    ];
    for (title, text) in cases {
        let about = found(title, "It is described here.");
        let naming = found("Another", text);
        let defines = |key: &str| about.iter().any(|mention| mention.defines && mention.key == key);
        let keys: Vec<&str> = naming.iter().map(|mention| mention.key.as_str()).collect();
        assert!(keys.iter().any(|key| defines(key)), "`{title}` is not among {keys:?}");
    }
}

#[test]
fn a_question_names_the_titles_in_it_however_it_is_written() {
    let cases = [
        ("Lothair II", "When did Lothair Ii's mother die?"),
        ("The Straw Hat", "where did the composer of film the straw hat die?"),
        ("Come Dance with Me (song)", "Where was the performer of song Come Dance With Me (Song) born?"),
        ("Maurice, Prince of Orange", "Where did Maurice, Prince Of Orange's father die?"),
        ("Back in the U.S.A.", "Who wrote Back In The U.S.A. first?"),
        ("3 Dots", "Which film came out first, 3 Dots or Dying God?"),
    ];
    for (title, question) in cases {
        let about = found(title, "It is described here.");
        let named = names_in(question);
        let is_named = about.iter().any(|mention| mention.defines && named.contains(&mention.key));
        assert!(is_named, "`{title}` is not among {named:?}");
    }
    assert_eq!(names_in("the film?"), [""; 0], "a general word names nothing by itself");
}

#[test]
fn names_get_the_kind_that_their_words_and_surroundings_speak_for() {
    let cases = [
        ("The report was signed by Dr. Oda Krell on Monday.", "oda krell", Kind::Person),
        ("The report was signed by engineer Vasko Trin.", "vasko trin", Kind::Person),
        ("Edda Morn (born 1950) is a painter.", "edda morn", Kind::Person),
        ("It was sold to Quillon Systems GmbH last year.", "quillon systems gmbh", Kind::Organization),
        ("She studied at the University of Weilheim.", "university of weilheim", Kind::Organization),
        ("It was sold to Harmon & Vick last year.", "harmon and vick", Kind::Organization),
        ("The boats lay in Skarness until spring.", "skarness", Kind::Place),
        ("The village of Ostrel was lost.", "ostrel", Kind::Place),
        ("They moved to New Zealand later.", "new zealand", Kind::Place),
        ("They were beaten in the Battle of Brevik there.", "battle of brevik", Kind::Event),
        ("He fell in World War II.", "world war ii", Kind::Event),
        ("Close the valve of P-204 first.", "p204", Kind::Term),
        ("The wiki needs Hedgerow. The Hedgerow program is old.", "hedgerow", Kind::Product),
        ("We draw with Hedgerow. Hedgerow is a free program for maps.", "hedgerow", Kind::Product),
        ("Then call mapfold(1) on each file.", "mapfold", Kind::Product),
        (
            "A pressure relief valve is fitted. The pressure relief valve opens.",
            "pressure relief valve",
            Kind::Concept,
        ),
    ];
    for (text, key, kind) in cases {
        assert_eq!(get(&found("Notes", text), key).kind, kind, "{text}");
    }
}

#[test]
fn one_entity_written_in_several_ways_is_counted_as_one() {
    let cases = [
        ("Etan Boritzer writes. Boritzer has four books. We met Boritzer's wife.", "etan boritzer", 3),
        (
            "The mechanical seal leaks. Mechanical seals wear. A new mechanical seal is fitted.",
            "mechanical seal",
            3,
        ),
        ("We use C-reactive protein (CRP). Later CRP fell. No CRP was seen.", "c reactive protein", 4),
        ("Pump P-204 runs. The P204 stops. Then P-204's seal leaks.", "p204", 3),
    ];
    for (text, key, count) in cases {
        assert_eq!(get(&found("Notes", text), key).count, count, "{text}");
    }
}

#[test]
fn a_surname_shared_by_two_goes_to_the_one_named_last() {
    let text =
        "Peder Aune wrote it. Peder Aune was old. Aune died. Then came Nils Aune. Aune left. Aune came back.";
    let mentions = found("Notes", text);
    assert_eq!(get(&mentions, "peder aune").count, 3);
    assert_eq!(get(&mentions, "nils aune").count, 3);
}

#[test]
fn the_subject_is_known_by_the_names_of_the_first_sentence_too() {
    let text = "Frederick Barbarossa (1122-1190), also known as Frederick I, was an emperor.";
    let mentions = found("Frederick I, Holy Roman Emperor", text);
    assert!(get(&mentions, "frederick barbarossa").defines);
    assert_eq!(get(&mentions, "frederick barbarossa").label, "Frederick I, Holy Roman Emperor");
}

#[test]
fn what_stands_in_the_title_or_is_repeated_weighs_more() {
    let text =
        "The suction strainer is clogged. A worn coupling was found. Clean the suction strainer weekly.";
    let mentions = found("Cavitation", text);
    let weight = |key: &str| get(&mentions, key).weight;
    assert!(weight("cavitation") > weight("suction strainer"));
    assert!(weight("suction strainer") > weight("worn coupling"));
    assert!(mentions.iter().all(|mention| mention.weight > 0.0 && mention.weight < 1.0));
}

#[test]
fn sentences_and_passages_are_told_apart() {
    let headings = ["Daily inspection".to_owned()];
    let passages = [
        Passage { text: "Ask Ingrid Solberg. Rest. Ingrid Solberg knows.", headings: &[], is_code: false },
        Passage { text: "Nobody else does but Ingrid Solberg.", headings: &headings, is_code: false },
    ];
    let mentions = mentions("Notes", &passages);
    let seen: Vec<(u32, u32, u32)> = mentions
        .iter()
        .filter(|mention| mention.key == "ingrid solberg")
        .map(|mention| (mention.passage, mention.count, mention.sentences))
        .collect();
    assert_eq!(seen, [(0, 2, 0b101), (1, 1, 0b1)]);
    let heading = get(&mentions, "daily inspection");
    assert!(heading.defines && heading.passage == 1);
}

#[test]
fn other_languages_and_scripts_give_their_names() {
    let cases = [
        ("Die Fähre wurde von Karl Brandt in Tromsø gebaut.", "karl brandt"),
        ("Le pont fut ouvert par Lucie Marchand à Nantes.", "lucie marchand"),
        ("Мост построил Иван Петров в Казани.", "иван петров"),
        ("Το έγραψε ο Νίκος Καλάς.", "νικος καλας"),
    ];
    for (text, key) in cases {
        get(&found("", text), key);
    }
    for text in ["东京是日本的首都。", "هذا نص عربي قصير.", "สวัสดีชาวโลก", "🦀🦀 🦀", "\u{0}\u{301}\u{200d}"]
    {
        found(text, text);
    }
}

#[test]
fn no_text_stops_it_and_no_text_makes_it_grow_without_bound() {
    let parts = [
        "A",
        "b ",
        "Smith ",
        "\"",
        "(",
        ")",
        ". ",
        "'s ",
        "’",
        "-",
        "of ",
        "the ",
        "II ",
        "&",
        "\n\n",
        "9",
        "é",
        "İ",
        "ß",
        "ﬁ",
        "日",
        "\u{301}",
        "_",
        "ABC ",
        "King ",
        "born ",
        ",",
        "is a ",
        "\u{1f980}",
        "John Smith ",
        "P-204 ",
        "Name: ",
        "; ",
        "```",
        "\n",
        "/",
        "=",
        "_",
        "()",
        "(1)",
        "-x",
    ];
    let mut state = 7_u64;
    for _ in 0..600 {
        let mut text = String::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        let (title, body) = text.split_at(text.char_indices().nth(20).unwrap().0);
        mentions(title, &[Passage { text: body, headings: &[], is_code: true }]);
        let first = found(title, body);
        assert_eq!(first, found(title, body));
        let is_plain = |c: char| c == ' ' || c.is_alphanumeric();
        assert!(
            first.iter().all(|mention| !mention.key.trim().is_empty() && mention.key.chars().all(is_plain))
        );
        names_in(&text);
    }
    let floods = [
        "John Smith Smith. Jane Smith. ",
        "Aa",
        "(ABC",
        "one two of three ",
        "\"A b",
        "King of the ",
        "a-b-c ",
        "A: b; C: d\n",
        "```\n",
        "a/b/c=d@e.f(1)()",
        "Aa bb\n\n",
    ];
    for flood in floods {
        let text = flood.repeat(1_000);
        assert!(found(&text, &text).len() <= 64);
        assert!(names_in(&text).len() < 600);
    }
}

#[test]
fn without_passages_there_is_nothing_to_point_at() {
    assert_eq!(mentions("Title", &[]), []);
}

#[test]
fn units_are_no_entities() {
    let text = "Tighten the nut to 45 Nm. Torque (Nm) is listed below. It holds 64 MB and answers within 20 ms at 300 kPa. \
                Use 45Nm for bolts, 10MB for files and 12 V for lamps. The Nm value is printed.";
    let keys: Vec<String> = found("Notes", text).into_iter().map(|mention| mention.key).collect();
    for unit in ["nm", "mb", "ms", "kpa", "45nm", "10mb", "v", "nm value"] {
        assert!(!keys.iter().any(|key| key == unit), "`{unit}` is among {keys:?}");
    }
}

#[test]
fn a_noun_that_is_used_often_is_a_concept_also_if_it_never_stands_alone() {
    let alone = "Remove the impeller. Check the impeller. Balance the impeller. The oil is thick.";
    let inside = "Tighten the impeller nut. Check the impeller clearance. Oil the impeller key. A worn impeller is loud. \
                  Clean the impeller vanes. The suction strainer is new.";
    for text in [alone, inside] {
        let mentions = found("Notes", text);
        let impeller = get(&mentions, "impeller");
        assert_eq!((impeller.kind, impeller.label.as_str()), (Kind::Concept, "impeller"));
        let stronger = mentions.iter().filter(|other| other.weight > impeller.weight).count();
        assert!(stronger <= 1, "{mentions:?}");
    }
}

fn keys(title: &str, text: &str) -> Vec<String> {
    found(title, text).into_iter().map(|mention| mention.key).collect()
}

#[test]
fn identifiers_addresses_and_options_are_no_entities() {
    let text = "Set temp_max or DEB_ to ten, then call innerWidth, console.log or reload() with --force, $HOME and \
                A_LIMIT=3. It is in /srv/tide/wheel, at https://tide.example/wheel and usr/share/tide. Ask tide@wheel.org. \
                We saw Skarness and Node.js.";
    let found = keys("Notes", text);
    assert_eq!(found, ["note", "nodej", "skarness"]);
}

#[test]
fn the_names_of_columns_are_no_entities_and_a_cell_is_one_name() {
    let text = "Harbour: Skarness; Depth_m: 12; Finding: Zostera marina\n\
                Harbour: Brevik; Depth_m: 9; Finding: Fucus vesiculosus\n\
                Harbour: Dundee_City; Depth_m: 9; Finding: Fucus vesiculosus";
    let mentions = found("", text);
    let labels: Vec<&str> = mentions.iter().map(|mention| mention.label.as_str()).collect();
    for label in ["Skarness", "Brevik", "Dundee City", "Zostera marina", "Fucus vesiculosus"] {
        assert!(labels.contains(&label), "`{label}` is not among {labels:?}");
    }
    for label in ["Harbour", "Depth_m", "Finding", "Zostera", "marina"] {
        assert!(
            !labels.iter().any(|found| found.eq_ignore_ascii_case(label)),
            "`{label}` is among {labels:?}"
        );
    }
}

#[test]
fn code_is_left_out_and_its_comments_are_read() {
    let fenced =
        "We draw with Hedgerow.\n```js\nconst Tidewheel = new Mapfold('Skarness');\n```\nAsk Ingrid Solberg.";
    assert_eq!(keys("", fenced), ["hedgerow", "ingrid solberg"]);
    let code = "# Written by Ingrid Solberg for Hedgerow.\nimport Tidewheel\n\n\
                class Mapfold(Tidewheel):\n    NAME = \"Skarness\"\n";
    let found = mentions("", &[Passage { text: code, headings: &[], is_code: true }]);
    let keys: Vec<&str> = found.iter().map(|mention| mention.key.as_str()).collect();
    assert!(keys.contains(&"ingrid solberg") && keys.contains(&"hedgerow"), "{keys:?}");
    assert!(!keys.iter().any(|key| ["tidewheel", "mapfold", "skarness", "name"].contains(key)), "{keys:?}");
}

#[test]
fn a_heading_in_capitals_names_nothing_but_acronyms_and_words_of_the_text() {
    let headings = ["TIDE TABLES".to_owned(), "BESCHREIBUNG".to_owned(), "MPW".to_owned()];
    let passages: Vec<Passage<'_>> = (0..3)
        .map(|at| Passage {
            text: "The tide tables of the MPW are printed in Skarness. The MPW is old.",
            headings: &headings[at..=at],
            is_code: false,
        })
        .collect();
    let found = mentions("", &passages);
    let kind = |key: &str| found.iter().find(|mention| mention.key == key).map(|mention| mention.kind);
    assert_eq!(kind("tide table"), Some(Kind::Concept));
    assert_eq!(kind("mpw"), Some(Kind::Term));
    let label = &get(&found, "tide table").label;
    assert_eq!(label, "tide tables");
}

#[test]
fn pronouns_of_other_languages_and_german_nouns_are_no_names() {
    let text = "Wir haben die Fähre gesehen. Sie fuhr nach Tromsø. Wir und die anderen blieben. Das war Karl Brandt. \
                Die Fähre war alt, und die Fähre war langsam.";
    let mentions = found("", text);
    assert!(!mentions.iter().any(|mention| ["wir", "sie", "die", "das"].contains(&mention.key.as_str())));
    assert_eq!(get(&mentions, "fahre").kind, Kind::Concept);
    assert_eq!(get(&mentions, "karl brandt").kind, Kind::Person);
    let mixed = [
        Passage {
            text: "The boat is in the dock. It was built for us by the yard.",
            headings: &[],
            is_code: false,
        },
        Passage {
            text: "Wir haben das Boot nicht gesehen. Und Wir waren am Ufer.",
            headings: &[],
            is_code: false,
        },
    ];
    assert!(!graph::mentions("", &mixed).iter().any(|mention| mention.key == "wir"));
}
