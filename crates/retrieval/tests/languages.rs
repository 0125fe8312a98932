//! Documents are found by other forms of their words, in their own language.

mod common;

use common::{Page, ask, put, titles};
use retrieval::{Index, Mode, Passage};
use std::fs::{self, File};

/// Title, text, and questions with other forms of its words that find it first.
#[rustfmt::skip]
const LIBRARY: [(&str, &str, &[&str]); 9] = [
    ("english", "The turbines of the plant were built by Ada Quist in 1901. T-204 is the largest of them.", &[
        "who built the turbine", "building plants", "Quist",
    ]),
    ("german", "Die Pumpe steht in einem der Häuser am Hafen. Sie wird jährlich von Jürgen Müller gewartet, und das ist \
                nicht immer einfach.", &[
        "Pumpen", "Welche Pumpen stehen in den Häusern?", "Haus", "jährliche Wartung der Häfen", "Muller",
    ]),
    ("french", "Les chevaux de la ferme sont nourris par le fermier, qui est très généreux avec eux.", &[
        "cheval", "généreuse", "Qui nourrit le cheval de la ferme ?", "fermiers",
    ]),
    ("spanish", "Las canciones que se cantaban en los barcos eran muy tristes, y los marineros las recordaban.", &[
        "canción", "¿Qué canción se cantaba en el barco?", "marinero", "cancion triste",
    ]),
    ("russian", "В больших домах на берегу стояли новые насосы, и за ними следили опытные механики, которые были из города.", &[
        "новый насос", "Кто следил за насосом?", "механик", "дом у берега",
    ]),
    ("chinese", "水泵的密封圈每年更换一次，由北京工厂的技术员负责。", &[
        "密封圈多久更换？", "北京的技术员", "水泵", "泵",
    ]),
    ("chinese press", "圈养动物的密度很高，年轻人封闭了道路，京剧在水边上演，北方工人换了技能。", &[
        "圈养动物", "京剧",
    ]),
    ("japanese", "ポンプのシールは毎年東京の工場で交換されます。作業は二人の技術者が行います。", &[
        "シールの交換", "東京の工場", "ポンプ", "技術者は何人ですか",
    ]),
    ("korean", "펌프의 밀봉은 매년 서울 공장에서 교체됩니다.", &[
        "서울", "펌프를 교체", "공장은 어디에 있습니까",
    ]),
];

fn library() -> Index {
    let mut index = Index::new(2);
    for (title, text, _) in LIBRARY {
        put(&mut index, Page { title, text, vector: &[1.0, 0.0], about: &[], names: &[] });
    }
    index
}

fn first(index: &Index, question: &str) -> Option<String> {
    let hits = index.search(&ask(question, &[], Mode::Lexical));
    titles(&hits).first().map(|title| (*title).to_owned())
}

#[test]
fn a_document_is_found_by_other_forms_of_its_words() {
    let index = library();
    for (title, _, questions) in LIBRARY {
        for question in questions {
            assert_eq!(first(&index, question).as_deref(), Some(title), "{question}");
        }
    }
}

#[test]
fn one_ideograph_is_found_in_headings_and_in_other_forms() {
    let mut index = library();
    let mut put = |title: &str, heading: &str, text: &str| {
        let headings = [heading.to_owned()];
        let passage = Passage { title, headings: &headings, text, vector: &[1.0, 0.0], mentions: &[] };
        index.put(title, &[passage]);
    };
    put("heading", "锅炉维护", "每年一次。");
    // A compatibility form of the letter that is asked for.
    put("form", "", "\u{f90a}屬加工。");
    assert_eq!(first(&index, "炉").as_deref(), Some("heading"));
    assert_eq!(first(&index, "金").as_deref(), Some("form"));
}

#[test]
fn a_mapped_file_has_the_languages_of_its_documents() {
    let path = std::env::temp_dir().join(format!("stoa-languages-{}", std::process::id()));
    library().write(b"", File::create(&path).unwrap()).unwrap();
    let (mut index, _) = Index::open(&File::open(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(first(&index, "Haus").as_deref(), Some("german"));
    // Added documents are found beside those of the file.
    let text = "Der Keller ist unter dem Haus, und die Häuser haben einen Brunnen im Keller.";
    put(&mut index, Page { title: "keller", text, vector: &[1.0, 0.0], about: &[], names: &[] });
    let hits = index.search(&ask("Häusern", &[], Mode::Lexical));
    assert_eq!(titles(&hits), ["keller", "german"]);
}

#[test]
fn a_question_in_another_language_finds_names_and_numbers() {
    let mut index = Index::new(2);
    let texts = [
        ("p-204", "The pump P-204 has a capacity of 350 litres and was made by Siemens in Zürich."),
        ("p-205", "The pump P-205 has a capacity of 700 litres. All other men of the town die in the war."),
        ("quist", "Ada Quist is the engineer who was responsible for the first plants of Bergen."),
        ("war", "The towns were at war, and so the men had to be in the army until they die."),
    ];
    for (title, text) in texts {
        put(&mut index, Page { title, text, vector: &[1.0, 0.0], about: &[], names: &[] });
    }
    for (question, expected) in [
        ("Wie groß ist die Leistung der P-204?", "p-204"),
        ("Was hat Siemens in Zurich gebaut?", "p-204"),
        ("Was ist das von Siemens?", "p-204"),
        ("Wer war die Ingenieurin Quist?", "quist"),
        ("Qui était Ada Quist ?", "quist"),
        ("Какая мощность у P-205?", "p-205"),
        ("P-204 的容量是多少？", "p-204"),
    ] {
        assert_eq!(first(&index, question).as_deref(), Some(expected), "{question}");
    }
}

#[test]
fn a_word_that_has_several_stems_counts_once() {
    let score = |languages: &[(&str, &str)], question: &str, title: &str| {
        let mut index = Index::new(2);
        for (title, text) in languages {
            put(&mut index, Page { title, text, vector: &[1.0, 0.0], about: &[], names: &[] });
        }
        let hits = index.search(&ask(question, &[], Mode::Lexical));
        hits.into_iter().find(|hit| hit.document == title).unwrap().score
    };
    let english = ("one", "the plan of the pumpen pump was to be the first of all");
    let german = ("two", "das ist nicht der Plan von dem Hafen und der Stadt");
    // "Pumpen" is `pumpen` in English and `pump` in German: as two mentions of one word, not as two words.
    let both = score(&[english, german], "Pumpen", "one");
    let alone =
        score(&[("one", "the plan of the pump pump was to be the first of all"), german], "pump", "one");
    assert!((both - alone).abs() < 1e-6, "{both} {alone}");
}
