#!/usr/bin/env python3
"""Makes the rows that `train.py` learns from: reads the sets, and makes negatives, follow-ups and other requests.

    training/prepare.py WORK [FEWER]      reads WORK/squad and WORK/sets, writes WORK/rows.jsonl.xz

Packages that a benchmark asks about are left out.
"""

import csv
import json
import lzma
import pathlib
import random
import sys

import kinds
import negatives
import rows as sets
import structure

SEED = 14
# How often the rows over documentation are repeated: there are few of them, and they are what the product is for.
OVER_DOCUMENTS = 2
BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"


def main():
    work = pathlib.Path(sys.argv[1])
    fewer = int(sys.argv[2]) if len(sys.argv) > 2 else None
    chance = random.Random(SEED)
    squad = list(sets.squad(work / "squad/train-v1.1.json"))
    others = [row for name in ("english", "tables", "languages") for row in collected(work, name, chance)]
    asked_about = {row["package"] for path in BENCH.rglob("documents.tsv")
                   for row in csv.DictReader(path.open(encoding="utf-8"), delimiter="\t")}
    documents = [row for row in collected(work, "synthetic", chance) if row["article"].split("__")[0] not in asked_about]
    formed = [row for name in ("passages-en", "passages-de") for row in structure.rows(passages(work, name), chance)]
    if fewer:
        squad, others, documents, formed = (chance.sample(some, min(fewer, len(some))) for some in (squad, others, documents, formed))
    made = with_negatives(squad, chance, beside=1.0, cut=0.25, exchanged=0.15, anywhere=0.05)
    made += with_negatives(others, chance, beside=0.4, cut=0.5, exchanged=0.1, anywhere=0.1)
    made += with_negatives(formed, chance, beside=0.5, cut=0.5, exchanged=0.05, anywhere=0.3)
    for _ in range(OVER_DOCUMENTS):
        made += with_negatives(documents, chance, beside=0.5, cut=0.5, exchanged=0.15, anywhere=0.5)
    made += list(follow_ups(squad + documents, chance, len(made) // 20))
    made += list(keywords(made, chance, len(made) // 30))
    questions = [row["question"] for row in squad + others + documents]
    titles = sorted({row["head"].split(" > ")[0] for row in squad + documents + formed if 2 < len(row["head"]) < 60})
    made += list(kinds.rows(chance, questions, titles, min(1200, len(questions) // 8)))
    # Passages repeat: beside each other, they hardly need room.
    made.sort(key=lambda row: (row["text"], row["question"]))
    with lzma.open(work / "rows.jsonl.xz", "wt", preset=3) as out:
        for row in made:
            kept = {name: row[name] for name in ("question", "head", "text", "answers", "answered", "kind") if name in row}
            out.write(json.dumps(kept, ensure_ascii=False) + "\n")
    without = sum(1 for row in made if not row["answers"] and "kind" not in row and not row.get("answered"))
    print(f"{len(made)} rows, {without} of questions that the passage does not answer")


def collected(work, name, chance):
    path = work / f"sets/{name}.jsonl.xz"
    return sets.collected(path, chance) if path.exists() else []


def passages(work, name):
    path = work / f"sets/{name}.jsonl.xz"
    return [json.loads(line) for line in lzma.open(path, "rt", encoding="utf-8")] if path.exists() else []


def with_negatives(rows, chance, beside, cut, exchanged, anywhere):
    """Returns rows with others that are not answered: each share says for how many of the answered such a one is made."""
    passages, names = negatives.Passages(rows), negatives.Names(rows)
    made = list(rows)
    ways = [(beside, lambda row: passages.beside(row, chance)), (cut, negatives.without_answer),
            (exchanged, lambda row: names.exchanged(row, chance)),
            (anywhere, lambda row: passages.beside(row, chance, everywhere=True))]
    for row in rows:
        if row["answers"]:
            found = [way(row) for share, way in ways if chance.random() < share]
            made += [one for one in found if one]
    return made


def follow_ups(rows, chance, count):
    """Yields questions after another one, which is mostly about the same: only the last is to be answered."""
    by_text = {}
    for row in rows:
        by_text.setdefault(row["text"], []).append(row)
    for row in chance.sample(rows, min(count, len(rows))):
        others = [other for other in by_text[row["text"]] if other["question"] != row["question"]]
        before = chance.choice(others if others and chance.random() < 0.75 else rows)
        yield {**row, "question": f"{before['question']} {row['question']}"}


def keywords(rows, chance, count):
    """Yields questions as some people ask them: the words that matter, nothing else."""
    for row in chance.sample(rows, min(count, len(rows))):
        kept = [word.strip("?.,!") for word in row["question"].split() if word.lower().strip("?.,!") not in negatives.STOP]
        if len(kept) > 2 and "kind" not in row:
            yield {**row, "question": " ".join(kept)}


if __name__ == "__main__":
    main()
