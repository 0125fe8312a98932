"""Rows as tokens, and batches of them."""

import json
import lzma
import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from tokenizers import Tokenizer

MAX_TOKENS, MAX_QUESTION_TOKENS = 384, 96
CLS, SEP = 101, 102
NONE = -100
MAX_ROWS = 256
# Batches that are made ahead, and by how many threads.
AHEAD, THREADS = 8, 2


class Tokens:
    def __init__(self, path):
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def pairs(self, pairs):
        """Returns for each question and text the tokens, the number of those of the question, and the places in the text."""
        questions = self.tokenizer.encode_batch([question for question, _ in pairs], add_special_tokens=False)
        texts = self.tokenizer.encode_batch([text for _, text in pairs], add_special_tokens=False)
        read = []
        for question, text in zip(questions, texts):
            first = [CLS, *question.ids[:MAX_QUESTION_TOKENS - 2], SEP]
            room = MAX_TOKENS - len(first) - 1
            read.append((np.array([*first, *text.ids[:room], SEP], np.int32), len(first), text.offsets[:room]))
        return read


def encoded(path, tokens, chance, limit=None):
    """Returns the rows of a file as dictionaries of what a batch needs. What does not fit into a pair is left out."""
    rows = [json.loads(line) for line in lzma.open(path, "rt", encoding="utf-8")]
    rows = chance.sample(rows, min(limit, len(rows))) if limit else rows
    heads = [row["head"] + "\n" if row["head"] and chance.random() < 0.8 else "" for row in rows]
    read = tokens.pairs([(row["question"], head + row["text"]) for row, head in zip(rows, heads)])
    examples = []
    for row, head, (ids, first, places) in zip(rows, heads, read):
        marked = np.zeros(len(ids), np.int8)
        spans = []
        for start, end in row["answers"]:
            inside = [index for index, (a, b) in enumerate(places) if a < end + len(head) and b > start + len(head) and b > a]
            if inside and places[inside[-1]][1] >= end + len(head):
                spans.append((first + inside[0], first + inside[-1]))
                marked[first + inside[0]:first + inside[-1] + 1] = 1
        if row["answers"] and not spans:
            continue
        is_answered = bool(spans or row.get("answered"))
        has_place = spans or not is_answered
        start, end = chance.choice(spans) if spans else (0, 0)
        examples.append({"ids": ids, "first": first, "marked": marked, "start": start if has_place else NONE,
                         "end": end if has_place else NONE, "answered": float(is_answered)})
    return examples


def batches(examples, budget, chance):
    """Yields lists of examples of about the same length, each of so many tokens with its padding, in random order."""
    order = list(range(len(examples)))
    chance.shuffle(order)
    chunk = 64 * budget // 200
    made = []
    for lo in range(0, len(order), chunk):
        some = sorted(order[lo:lo + chunk], key=lambda index: len(examples[index]["ids"]))
        batch = []
        for index in some:
            if batch and (len(batch) == MAX_ROWS or (len(batch) + 1) * len(examples[index]["ids"]) > budget):
                made.append(batch)
                batch = []
            batch.append(examples[index])
        made.append(batch)
    chance.shuffle(made)
    return made


def ahead(batches, device):
    """Yields the tensors of batches, made by threads while the ones before are used."""
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = deque()
        for batch in batches:
            waiting.append(pool.submit(tensors, batch, device))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def tensors(batch, device):
    """Returns a batch as tensors, padded to the longest and to a multiple of eight."""
    length = -(-max(len(example["ids"]) for example in batch) // 8) * 8
    tokens, types, marked = (np.zeros((len(batch), length), np.int64) for _ in range(3))
    for row, example in enumerate(batch):
        own = len(example["ids"])
        tokens[row, :own] = example["ids"]
        types[row, example["first"]:own] = 1
        marked[row, :own] = example["marked"]
    made = {"tokens": tokens, "types": types, "marked": marked}
    if "said" in batch[0]:
        made["said"] = np.full((len(batch), length, 2), -1e4, np.float32)
        for row, example in enumerate(batch):
            made["said"][row, :len(example["ids"])] = example["said"]
    for name, kind in (("start", np.int64), ("end", np.int64), ("answered", np.float32),
                       ("relevance", np.float32), ("judged", np.float32)):
        made[name] = np.array([example.get(name, 0) for example in batch], kind)
    return {name: torch.from_numpy(value).to(device, non_blocking=True) for name, value in made.items()}
