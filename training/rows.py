"""Rows for training: a question, a passage below its title, and where the passage answers the question, if it does.

A row is a dictionary: `question`, `head` (title and headings), `text`, `answers` (pairs of start and end in the text;
empty: it is not answered there) and, if only that is known, `answered` without a place.
"""

import json
import lzma
import random
import re

# A passage of the product has at most 256 tokens.
LONGEST, WINDOW = 1300, 1000
# Sets of which no more are taken: the rest would crowd out what is nearer to documents.
CAPS = {"squadshifts_amazon_reviews": 2500, "squadshifts_reddit": 2500, "squadshifts_new_wiki": 5000,
        "sni_boolq": 3000, "squad_train_pieces": 0, "squad1_dev_html_extra": 0, "squad_es_dev": 5000,
        "squad_it_test": 4000, "piaf": 3815, "viquiquad_ca": 2457, "jaquad": 0, "cmrc2018_dev_trial": 0, "arcd": 0,
        "sni_sharc": 0, "sni_qasper": 0, "ropes_contrast": 0, "drop_contrast": 0, "covidqa": 0, "sni_iirc_evidence": 0}
# Words of questions that are computed from a table, not read in it.
COMPUTED = re.compile(r"\b(how many|total|difference|average|most|least|more|less|fewer|first|last|previous|next|before|"
                      r"after|above|below|top|highest|lowest|longest|largest|earliest|latest|only|both|combined)\b")
WORD = re.compile(r"\w+")


def words(text):
    return set(WORD.findall(text.lower()))


def squad(path):
    """Yields the rows of a file in SQuAD's format, with `article` and `paragraph`."""
    for number, article in enumerate(json.load(open(path, encoding="utf-8"))["data"]):
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                places = [[answer["answer_start"], answer["answer_start"] + len(answer["text"])]
                          for answer in asked["answers"]]
                yield {"question": asked["question"].strip(), "head": title, "text": paragraph["context"],
                       "answers": places[:1], "article": number}


def collected(path, chance):
    """Yields the rows of a file of converted sets: JSON objects with `set`, `question`, `context`, `answers` and the like."""
    count = {}
    lines = [json.loads(line) for line in lzma.open(path, "rt", encoding="utf-8")]
    chance.shuffle(lines)
    for line in lines:
        name = line["set"]
        if count.get(name, 0) >= CAPS.get(name, len(lines)) or not line.get("context"):
            continue
        row = table(line, chance) if line.get("table") else passage(line, chance)
        if row:
            count[name] = count.get(name, 0) + 1
            yield {**row, "set": name, "article": line.get("doc") or line.get("title")}


def passage(line, chance):
    row = {"question": line["question"].strip(), "head": line.get("title") or "", "text": line["context"], "answers": []}
    label = line.get("label") or (line["answers"] and line["answers"][0]["text"])
    if line.get("kind") == "boolean":
        row["text"] = row["text"][:LONGEST]
        # Yes or no is in no one place.
        return row if label == "unanswerable" else {**row, "answered": True}
    if line.get("kind") == "freeform":
        return None
    places = [[answer["start"], answer["start"] + len(answer["text"])] for answer in line["answers"]
              if answer.get("start") is not None and answer["text"].strip()]
    if line["answers"] and not places:
        return None
    # Several annotators mark the same place: those that do not touch the first belong to another.
    apart = places[:1]
    if line["set"] in ("clapnq_dev", "tatqa_dev_test", "synthetic"):
        for place in places[1:]:
            if all(place[1] <= other[0] or place[0] >= other[1] for other in apart):
                apart.append(place)
    return window({**row, "answers": sorted(apart)}, chance)


def window(row, chance):
    """Cuts a long text around its answers."""
    text, places = row["text"], row["answers"]
    if len(text) <= LONGEST:
        return row
    if not places:
        return {**row, "text": text[:LONGEST]}
    first, last = places[0][0], places[-1][1]
    if last - first > WINDOW - 100:
        places, last = places[:1], places[0][1]
    if last - first > WINDOW - 100:
        return None
    start = max(0, first - chance.randint(0, WINDOW - (last - first)))
    while start > 0 and text[start - 1] not in "\n .":
        start -= 1
    end = min(len(text), max(start + LONGEST, last))
    return {**row, "text": text[start:end], "answers": [[a - start, b - start] for a, b in places]}


def table(line, chance):
    """Makes a row of a table as the product extracts it: a line for each record, with the names of its columns."""
    header, *records = line["table"]
    found = [(y, x) for answer in line["answers"] for y, record in enumerate(records) for x, cell in enumerate(record)
             if cell.strip() == answer["text"].strip()]
    question = line["question"].lower()
    if not found or len(found) != len(line["answers"]) or COMPUTED.search(question) or len(header) < 2:
        return None
    asked = words(question)
    # A value that is looked up has its key in the question.
    keyed = all(any(words(cell) & asked for other, cell in enumerate(records[y]) if other != x) for y, x in found)
    if not keyed and line["set"] == "wikitablequestions":
        return None
    named = chance.random() < 0.7 and all(header)
    first, last = min(y for y, _ in found), max(y for y, _ in found)
    lo = max(0, first - chance.randint(0, 8))
    text, places = "" if named else " | ".join(header) + "\n", []
    for y in range(lo, len(records)):
        for x, cell in enumerate(records[y][:len(header)]):
            text += ("; " if named else " | ") if x else ""
            text += f"{header[x]}: " if named else ""
            if (y, x) in found:
                places.append([len(text), len(text) + len(cell)])
            text += cell
        text += "\n"
        if y >= last and len(text) > WINDOW:
            break
    if len(text) > 2 * LONGEST or len(places) != len(found):
        return None
    return {"question": line["question"].strip(), "head": line.get("title") or "", "text": text.rstrip(), "answers": places}
