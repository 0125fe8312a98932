"""Makes rows of questions that a passage does not answer, of every kind that users meet."""

import math
import re
from collections import Counter, defaultdict

from rows import WORD

STOP = set("the of in a an and to was is are what which who did for on by how many when where as at with it from were does "
           "do that be can i you this or not if my".split())
NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w-]+(?: [A-Z][\w-]+)*")
NUMBER = re.compile(r"\b\d[\d.,]*\b")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])|\n")


class Passages:
    """All passages by article, to find those that share most with a question."""

    def __init__(self, rows):
        self.texts, self.of_article = [], defaultdict(list)
        known = set()
        for row in rows:
            if row["text"] not in known:
                known.add(row["text"])
                self.of_article[row.get("article")].append(len(self.texts))
                self.texts.append((row["head"], row["text"], content(row["text"])))
        counts = Counter(word for _, _, own in self.texts for word in own)
        self.weight = {word: math.log(len(self.texts) / count) for word, count in counts.items()}
        self.having = defaultdict(list)
        for index, (_, _, own) in enumerate(self.texts):
            for word in own:
                if counts[word] < 2000:
                    self.having[word].append(index)

    def beside(self, row, chance, everywhere=False):
        """Returns a passage of the same article, or of all, that shares most with the question and lacks the answer."""
        asked = content(row["question"])
        if everywhere:
            among = Counter()
            for word in asked:
                for index in self.having.get(word, ())[:2000]:
                    among[index] += self.weight[word]
            among = [index for index, _ in among.most_common(12)]
        else:
            among = self.of_article[row.get("article")] if row.get("article") not in (None, "") else []
            among = among if len(among) <= 60 else chance.sample(among, 60)
        said = [row["text"][start:end].lower() for start, end in row["answers"]]
        fits = [index for index in among if self.texts[index][1] != row["text"]
                and not any(one in self.texts[index][1].lower() for one in said)]
        share = lambda index: sum(self.weight.get(word, 0) for word in asked & self.texts[index][2])
        fits.sort(key=share, reverse=True)
        if not fits:
            return None
        head, text, _ = self.texts[chance.choice(fits[:3])]
        return {"question": row["question"], "head": head, "text": text, "answers": []}


def content(text):
    return {word for word in WORD.findall(text.lower()) if word not in STOP}


def without_answer(row):
    """Returns the passage without the sentences, rows or entries that have the answer."""
    if not row["answers"]:
        return None
    kept, at = [], 0
    said = [row["text"][start:end].lower() for start, end in row["answers"]]
    for part in SENTENCE.split(row["text"]):
        start = row["text"].find(part, at)
        at = start + len(part)
        if not any(start < end and begin < at for begin, end in row["answers"]):
            kept.append((start, part))
    if len(kept) < 2:
        return None
    text = ""
    for index, (start, part) in enumerate(kept):
        text += (row["text"][start - 1] if index else "") + part
    if any(one in text.lower() for one in said):
        return None
    return {**row, "text": text, "answers": []}


class Names:
    """Names and numbers of questions, to exchange one for another."""

    def __init__(self, rows):
        self.names = sorted({name for row in rows for name in NAME.findall(row["question"])})
        self.numbers = sorted({number for row in rows for number in NUMBER.findall(row["question"])})

    def exchanged(self, row, chance):
        question = row["question"]
        for pattern, others in ((NUMBER, self.numbers), (NAME, self.names)):
            found = list(pattern.finditer(question))
            if found:
                one = chance.choice(found)
                other = chance.choice(others)
                if pattern is NUMBER:
                    same = [number for number in chance.sample(others, min(200, len(others)))
                            if len(number) == len(one.group())]
                    other = same[0] if same else other
                if other.lower() in row["text"].lower() or other == one.group():
                    return None
                changed = question[:one.start()] + other + question[one.end():]
                return {**row, "question": changed, "answers": []}
        return None
