#!/usr/bin/env python3
"""Makes the rows that `train.py` learns from: reads the sets, and makes negatives and follow-ups.

    training/prepare.py WORK [FEWER]      reads WORK/squad and WORK/sets, writes WORK/rows.jsonl.xz

Packages that a benchmark asks about are left out.
"""

import csv
import hashlib
import json
import lzma
import pathlib
import random
import re
import sys

import negatives
import rows as sets
import structure

SEED = 14
# How often the rows over documents are repeated: there are few of them, and they are what the product is for.
SYNTHETIC, WRITTEN = 1, 3
# Of how many passages of a document rows are made by their form.
MAX_FORMED = 30
HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent / "bench"


def main():
    work = pathlib.Path(sys.argv[1])
    fewer = int(sys.argv[2]) if len(sys.argv) > 2 else None
    chance = random.Random(SEED)
    squad = list(sets.squad(work / "squad/train-v1.1.json"))
    others = [row for name in ("english", "tables", "languages") for row in collected(work, name, chance)]
    asked_about = {row["package"] for path in BENCH.rglob("documents.tsv")
                   for row in csv.DictReader(path.open(encoding="utf-8"), delimiter="\t")}
    documents = [row for row in collected(work, "synthetic", chance) if row["article"].split("__")[0] not in asked_about]
    cut = [passage for path in sorted((work / "sets").glob("*.jsonl.xz")) for passage in passages(path)]
    cut += [json.loads(line) for line in open(HERE / "invented.jsonl", encoding="utf-8")]
    cut = [passage for passage in cut if re.split("__|_", passage["doc"])[0] not in asked_about]
    formed = list(structure.rows(few_of_each(cut, chance), chance))
    questions = written(cut)
    if fewer:
        squad, others, documents, formed, questions = (chance.sample(some, min(fewer, len(some)))
                                                       for some in (squad, others, documents, formed, questions))
    made = with_negatives(squad, chance, beside=1.0, cut=0.25, exchanged=0.15, anywhere=0.05)
    made += with_negatives(others, chance, beside=0.4, cut=0.5, exchanged=0.1, anywhere=0.1)
    made += with_negatives(formed, chance, beside=0.5, cut=0.5, exchanged=0.05, anywhere=0.3)
    for _ in range(SYNTHETIC):
        made += with_negatives(documents, chance, beside=0.5, cut=0.5, exchanged=0.15, anywhere=0.5)
    for _ in range(WRITTEN):
        made += with_negatives(questions, chance, beside=1.0, cut=0.3, exchanged=0.1, anywhere=0.7, among=others_of(cut))
        made += list(follow_ups(questions, chance, len(questions) // 3))
    made += list(follow_ups(squad + documents, chance, len(made) // 25))
    made += list(keywords(made, chance, len(made) // 30))
    # Passages repeat: beside each other, they hardly need room.
    made.sort(key=lambda row: (row["text"], row["question"]))
    with lzma.open(work / "rows.jsonl.xz", "wt", preset=3) as out:
        for row in made:
            kept = {name: row[name] for name in ("question", "head", "text", "answers", "answered") if name in row}
            out.write(json.dumps(kept, ensure_ascii=False) + "\n")
    without = sum(1 for row in made if not row["answers"] and not row.get("answered"))
    print(f"{len(made)} rows, {without} of questions that the passage does not answer")


def collected(work, name, chance):
    path = work / f"sets/{name}.jsonl.xz"
    return sets.collected(path, chance) if path.exists() else []


def passages(path):
    """Returns the passages of documents: those that were cut, and those that the synthetic questions are about."""
    lines = [json.loads(line) for line in lzma.open(path, "rt", encoding="utf-8")] if path.name.startswith(("passages-", "synthetic")) else []
    cut = {(line.get("head", line.get("title")), line.get("text", line.get("context"))): line["doc"] for line in lines}
    return [{"head": head, "text": text, "doc": doc} for (head, text), doc in cut.items()]


def written(cut):
    """Returns the rows of `questions.jsonl`, which name their passage by its digest. What a passage of an invented document does
    not answer, all of that document does not."""
    of_digest = {hashlib.sha256(f"{passage['head']}\n{passage['text']}".encode()).hexdigest()[:12]: passage for passage in cut}
    rows, count = [], 0
    for line in open(HERE / "questions.jsonl", encoding="utf-8"):
        count += 1
        asked = json.loads(line)
        passage = of_digest.get(asked["passage"])
        if passage:
            question = " ".join(filter(None, (asked.get("before"), asked["question"])))
            rows.append({"question": question, "head": passage["head"], "text": passage["text"], "answers": asked["answers"],
                         "article": passage["doc"], "of_document": passage["doc"].startswith("invented")})
    print(f"{len(rows)} of {count} written questions have their passage")
    return rows


def few_of_each(cut, chance):
    """Returns at most so many passages of a document."""
    of_document = {}
    for passage in cut:
        of_document.setdefault(passage["doc"], []).append(passage)
    return [passage for own in of_document.values() for passage in chance.sample(own, min(MAX_FORMED, len(own)))]


def others_of(cut):
    return [{"head": passage["head"], "text": passage["text"], "article": passage["doc"]} for passage in cut]


def with_negatives(rows, chance, beside, cut, exchanged, anywhere, among=()):
    """Returns rows with others that are not answered: each share says for how many of the answered such a one is made. Their
    passages are those of the rows and of `among`."""
    passages, names = negatives.Passages([*rows, *among]), negatives.Names(rows)
    made = list(rows)
    ways = [(beside, lambda row: passages.beside(row, chance)), (cut, negatives.without_answer),
            (exchanged, lambda row: names.exchanged(row, chance)),
            (anywhere, lambda row: passages.beside(row, chance, everywhere=True))]
    for row in rows:
        own = ways if row["answers"] else ways[:1] if row.get("of_document") else []
        found = [way(row) for share, way in own if chance.random() < share]
        made += [one for one in found if one]
    return made


def follow_ups(rows, chance, count):
    """Yields questions after another one, of which only the last is to be answered: after one about the same passage, or about
    something else, whose passage then does not answer."""
    by_text = {}
    for row in rows:
        by_text.setdefault(row["text"], []).append(row)
    for row in chance.sample(rows, min(count, len(rows))):
        others = [other for other in by_text[row["text"]] if other["question"] != row["question"]]
        is_same = others and chance.random() < 0.6
        before = chance.choice(others if is_same else rows)
        question = f"{before['question']} {row['question']}"
        yield {**row, "question": question}
        said = [row["text"][start:end].lower() for start, end in row["answers"]]
        if said and before["answers"] and not any(one in before["text"].lower() for one in said):
            yield {**before, "question": question, "answers": []}


def keywords(rows, chance, count):
    """Yields questions as some people ask them: the words that matter, nothing else."""
    for row in chance.sample(rows, min(count, len(rows))):
        kept = [word.strip("?.,!") for word in row["question"].split() if word.lower().strip("?.,!") not in negatives.STOP]
        if len(kept) > 2:
            yield {**row, "question": " ".join(kept)}


if __name__ == "__main__":
    main()
