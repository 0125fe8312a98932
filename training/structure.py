"""Rows from what documents show by their form: rows with named cells, entries that explain a term, numbers with a unit, and
clauses that give a reason. The questions are clumsy, and right: they teach where such answers stand, in English and German.
"""

import re

from negatives import STOP

CELL = re.compile(r"^[^:;.,]{1,40}: .*$")
TERM = re.compile(r"^\s*(?:[-*•]\s+)?(`?[^\s:][^:\n]{0,60}?`?): (\S.{14,400})$")
MEASURE = re.compile(r"\b(\d[\d.,]*)\s?([A-Za-zÄÖÜäöüß]{3,20})\b")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
REASON = {"en": re.compile(r"^(.{20,160}?),? (because (?!of)|so that |in order to |since (?!\d|version|the release)|to avoid |to prevent )(.{10,200}?)[.;]?$"),
          "de": re.compile(r"^(.{20,160}?),? (weil |da |damit |um (?=.{3,80} zu )|denn )(.{10,200}?)[.;]?$")}
OF_ROW = {"en": ["What is the {t} of {k}?", "Which {t} does {k} have?", "{t} of {k}", "What {t} is listed for {k}?",
                 "For {k}, what is the {t}?", "I need the {t} for {k}.", "How is the {t} of {k} given?"],
          "de": ["Welche {t} hat {k}?", "Wie lautet {t} von {k}?", "Was steht bei {k} unter {t}?", "{t} von {k}?", "Welchen Wert hat {t} bei {k}?"]}
KEY_OF = {"en": ["Which {n} has {t} {v}?", "What has a {t} of {v}?", "Which one has the {t} {v}?", "Whose {t} is {v}?"],
          "de": ["Welche {n} hat {t} {v}?", "Was hat {t} {v}?", "Bei welchem {n} ist {t} {v}?"]}
MEANING = {"en": ["What does {k} do?", "What is {k}?", "What is {k} for?", "What does {k} mean?", "Explain {k}", "What happens with {k}?"],
           "de": ["Was macht {k}?", "Was bedeutet {k}?", "Wofür ist {k}?", "Was ist {k}?", "Wozu dient {k}?"]}
TERM_OF = {"en": ["Which option is for this: {e}?", "What is it called: {e}?", "Which setting {e}?", "What do I use to {e}?", "How do I {e}?",
                  "Which one {e}?"],
           "de": ["Mit welcher Option: {e}?", "Wie heißt das: {e}?", "Welche Einstellung: {e}?", "Womit kann ich {e}?", "Was nehme ich, {e}?"]}
HOW_MANY = {"en": ["How many {u} {r}?", "{r}: how many {u}?", "What number of {u} {r}?"],
            "de": ["Wie viele {u} {r}?", "Wie viel {u} {r}?", "{r}: wie viele {u}?"]}
WHY = {"en": ["Why {r}?", "Why is it that {r}?", "For what reason {r}?", "What is the reason that {r}?"],
       "de": ["Warum {r}?", "Weshalb {r}?", "Aus welchem Grund {r}?", "Wozu {r}?"]}
# Sentences of which one half is asked for by the other: a purpose, a condition, a definition.
HALVES = {
    "en": [(re.compile(r"^To (?!be|the )(.{5,80}?), (.{10,220}?)[.:]$"), ["How do I {r}?", "How can I {r}?", "What must I do to {r}?"]),
           (re.compile(r"^(?:If|When) (.{8,100}?), (.{10,220}?)[.:]$"), ["What happens if {r}?", "What if {r}?", "What is done when {r}?"]),
           (re.compile(r"^((?:The |A |An )?[\w-]+(?: [\w-]+){0,3}) is (an? .{10,200}?|the .{10,200}?)[.]$"), ["What is {r}?", "What is meant by {r}?"])],
    "de": [(re.compile(r"^Um (.{5,80}? zu \w+), (.{10,220}?)[.:]$"), ["Was muss ich tun, um {r}?", "Wie geht das: {r}?", "Wie schaffe ich es, {r}?"]),
           (re.compile(r"^(?:Wenn|Falls|Sobald) (.{8,100}?), (.{10,220}?)[.:]$"), ["Was passiert, wenn {r}?", "Was gilt, wenn {r}?", "Und wenn {r}?"]),
           (re.compile(r"^((?:Der |Die |Das |Ein |Eine )?[\w-]+(?: [\w-]+){0,3}) ist (eine? .{10,200}?|der .{10,200}?|die .{10,200}?|das .{10,200}?)[.]$"),
            ["Was ist {r}?", "Was versteht man unter {r}?"]),
           (re.compile(r"^((?:Der |Die |Das |Ein |Eine )[\w-]+(?: [\w-]+){0,3}) (?:enthält|zeigt|legt|bestimmt|öffnet|gibt|ermöglicht|bezeichnet|besteht) (.{10,200}?)[.]$"),
            ["Was macht {r}?", "Wofür ist {r} da?", "Was weiß man über {r}?", "Was tut {r}?"])],
}
PER_PASSAGE = 4
GERMAN = set("der die das und ist nicht sie ein eine mit auf den von werden wird zu im sich".split())


def rows(passages, chance):
    """Yields rows of passages, which have `head`, `text` and `doc`."""
    for passage in passages:
        language = "de" if len(GERMAN & set(passage["text"].lower().split())) > 4 else "en"
        made = [row for way in (of_table, of_terms, of_measures, of_reasons, of_halves) for row in way(passage["text"], language, chance)]
        for question, place in chance.sample(made, min(PER_PASSAGE, len(made))):
            yield {"question": question, "head": passage["head"], "text": passage["text"], "answers": [place],
                   "article": passage["doc"]}


def of_table(text, language, chance):
    at, records = 0, []
    for line in text.splitlines(keepends=True):
        cells, start = [], at
        for cell in line.rstrip("\n").split("; "):
            if not CELL.match(cell):
                cells = []
                break
            name, value = cell.split(": ", 1)
            cells.append((name.strip("- "), value, start + len(name) + 2))
            start += len(cell) + 2
        if len(cells) > 1:
            records.append(cells)
        at += len(line)
    for record in records:
        (key, k, _), (name, value, start) = chance.sample(record, 2)
        if not (1 < len(k) < 50 and 0 < len(value) < 120) or k == value or sum((key, k) in [(n, v) for n, v, _ in other] for other in records) > 1:
            continue
        yield chance.choice(OF_ROW[language]).format(t=spoken(name), k=k), [start, start + len(value)]
        if sum((name, value) in [(n, v) for n, v, _ in other] for other in records) == 1:
            place = next(at for n, _, at in record if n == key)
            yield chance.choice(KEY_OF[language]).format(n=spoken(key), t=spoken(name), v=value), [place, place + len(k)]


def spoken(name):
    return re.sub(r"[_-]", " ", name).lower() if "_" in name or name.isupper() and len(name) > 4 else name


def of_terms(text, language, chance):
    at = 0
    for line in text.splitlines(keepends=True):
        found = TERM.match(line.rstrip("\n"))
        if found and "; " not in line:
            term, meaning = found[1].strip("` "), found[2]
            first = SENTENCE.split(meaning)[0]
            start = at + found.start(2)
            yield chance.choice(MEANING[language]).format(k=term), [start, start + len(first)]
            said = thinned(first, chance)
            if term.lower() not in said.lower() and len(said.split()) > 2:
                place = at + line.index(term)
                yield chance.choice(TERM_OF[language]).format(e=said), [place, place + len(term)]
        at += len(line)


def sentences(text):
    at = 0
    for sentence in SENTENCE.split(text):
        start = text.index(sentence, at) if sentence else at
        at = start + len(sentence)
        if 30 < len(sentence) < 300:
            yield sentence, start


def of_measures(text, language, chance):
    for sentence, start in sentences(text):
        found = list(MEASURE.finditer(sentence))
        if len(found) == 1 and ";" not in sentence:
            number, unit = found[0][1].rstrip(".,"), found[0][2]
            rest = thinned(sentence[:found[0].start()] + sentence[found[0].end():], chance)
            place = start + found[0].start()
            if len(rest.split()) > 2:
                yield chance.choice(HOW_MANY[language]).format(u=unit, r=rest), [place, place + len(found[0].group())]


def of_reasons(text, language, chance):
    for sentence, start in sentences(text):
        found = REASON[language].match(sentence)
        if found:
            rest = thinned(found[1], chance)
            if len(rest.split()) > 2:
                yield chance.choice(WHY[language]).format(r=rest), [start + found.start(2), start + found.end(3)]


def of_halves(text, language, chance):
    for sentence, start in sentences(text):
        for pattern, questions in HALVES[language]:
            found = pattern.match(sentence)
            if found:
                asked = found[1] if chance.random() < 0.5 else thinned(found[1], chance)
                if asked:
                    asked = asked[0].lower() + asked[1:] if language == "en" else asked
                    yield chance.choice(questions).format(r=asked), [start + found.start(2), start + found.end(2)]


def thinned(text, chance):
    """Returns a text without some of its words, as it is remembered."""
    words = [word.strip("`\"'(),.;:!?") for word in text.split()]
    kept = [word for word in words if word and (word.lower() in STOP or chance.random() > 0.25)]
    kept = kept[:14]
    return " ".join([kept[0][0].lower() + kept[0][1:], *kept[1:]]) if kept else ""
