"""Questions over documents of other people, asked twice over the same search: answered by the reader alone, and by the model
in its own words. Judged as `stoa eval --questions` judges (crates/stoa/src/eval/judge.rs); the rules stand here once more,
and sentences are split a little more simply."""
import json, pathlib, re, statistics, sys, tempfile, time
from collections import Counter

from servers import ALIAS, ROOT, Stoa, ingest

ANSWERS = ROOT / "bench/answers"
# For models below 3 billion parameters facts come from the reader: a caller who sends a prompt gets the model's own words.
PROMPT = ROOT / "crates/knowledge/prompts/rag-chat.md"
# One short sentence is asked for; a small model that repeats itself would not end.
MAX_TOKENS = 256
CITATION = re.compile(r" *\[[\d, –-]*\d[\d, –-]*\]")
SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]}”’»]*\s+(?![a-zäöüß])")


def compare(options, llama):
    for name in [options.set] if options.set else ["main"]:
        if name in ("c", "d"):
            sys.exit("sets c and d are not asked here: nothing is to be chosen on them")
        with tempfile.TemporaryDirectory() as folder, Stoa(options.stoa, folder) as stoa:
            status, body = stoa.connect("llama.cpp", llama)
            assert status == 201, body
            ask_set(stoa.user(name), name, options.questions)


def ask_set(client, name, count):
    bench = ANSWERS if name == "main" else ANSWERS / "strangers" / name
    cache = ROOT / "target/bench" / ("answers" if name == "main" else f"strangers/{name}")
    asked = [json.loads(line) for line in (bench / "questions.jsonl").read_text().splitlines()]
    wanted = {document for one in asked for document in [one.get("document"), *one.get("documents", [])] if document}
    if not (cache / "documents").is_dir():
        sys.exit(f"no documents: run bench/answers/fetch{'' if name == 'main' else f' --set {name}'}")
    names = ingest(client, [path for path in sorted((cache / "documents").iterdir()) if path.name in wanted])
    if count and count < len(asked):
        asked = [asked[place * len(asked) // count] for place in range(count)]
    print(f"\n## set {name}: {len(asked)} questions over {len(names)} documents", flush=True)
    ways = {"reader": {"llmConfig": {"provider": "edge-ai", "model": "reader"}},
            "model": {"llmConfig": {"provider": "llama.cpp", "model": ALIAS, "maxTokens": MAX_TOKENS},
                      "systemPrompt": PROMPT.read_text(), "temperature": 0}}
    tallies = {way: Tally() for way in ways}
    for one in asked:
        print(f"\n{one['id']} {one['kind']}: {one['question']}  (right: {one.get('facts') or 'a refusal'})")
        for way, more in ways.items():
            started = time.monotonic()
            status, body = client.call("POST", "/api/chat", {"query": one["question"], "historyContext": history(one), **more})
            taken = time.monotonic() - started
            answer = body["response"] if status == 200 else f"{status} {body}"
            sources = body["sources"] if status == 200 else []
            given = [(names.get(source.get("documentId"), ""), source["text"]) for source in sources]
            verdict = judge(one, answer, given)
            tallies[way].add(one, verdict, answer, taken)
            text = answer.replace("\n", "\n    ")
            print(f"  {way:<6} {verdict:<8} {taken:5.1f} s  {text}", flush=True)
    print(f"\n| set {name} | answered | refused | verdicts where there is an answer | fact in the answer, cited or not | seconds, median |"
          "\n|---|---|---|---|---|---|")
    for way, tally in tallies.items():
        print(f"| {way} | {tally.row()} |", flush=True)


def history(one):
    who = lambda turn: "Assistant" if turn["role"] == "assistant" else "User"
    return "\n".join(f"{who(turn)}: {turn['content']}" for turn in one.get("history", []))


class Tally:
    def __init__(self):
        self.answerable, self.others, self.facts, self.times = Counter(), Counter(), 0, []

    def add(self, one, verdict, answer, taken):
        (self.answerable if one.get("facts") else self.others)[verdict] += 1
        self.facts += bool(one.get("facts")) and has_facts(one, answer)
        self.times.append(taken)

    def row(self):
        verdicts = ", ".join(f"{name} {count}" for name, count in self.answerable.most_common())
        return (f"{self.answerable['right']} of {self.answerable.total()} | {self.others['right']} of {self.others.total()} | "
                f"{verdicts} | {self.facts} | {statistics.median(self.times):.1f}")


def judge(one, answer, given):
    numbers = {int(part) for inside in re.findall(r"\[([^\]]*)\]", answer) for part in inside.split(",")
               if part.strip().isdecimal()}
    cited = [given[number - 1] for number in sorted(numbers) if 1 <= number <= len(given)]
    facts = one.get("facts")
    if not facts:
        return "WRONG" if cited else "right"
    if has_facts(one, answer) and is_cited(one, cited):
        return "wordy" if strangers(one, answer) > 1 else "right"
    if not cited:
        return "refused"
    return "WRONG" if any(has_any(text, facts) for _, text in given) else "unfound"


def has_facts(one, answer):
    points = sum(has_any(answer, point) for point in one.get("points", []))
    return (has_any(answer, one["facts"]) and all(has_any(answer, facts) for facts in one.get("and_facts", []))
            and points >= one.get("need", 0))


def is_cited(one, cited):
    if one.get("documents"):
        return all(any(name == document for name, _ in cited) for document in one["documents"])
    if one.get("points"):
        return all(name == one.get("document") for name, _ in cited)
    return any(has_any(text, one["facts"]) for _, text in cited)


def strangers(one, answer):
    """Counts the sentences, rows and list items that have nothing to do with the answer."""
    if not one.get("relevant"):
        return 0
    lines = [CITATION.sub("", line) for line in answer.splitlines() if not line.lstrip().startswith(("#", "`"))]
    parts = [part for line in lines for part in SENTENCE.split(line)]
    belonging = sum([one["facts"], one["relevant"], *one.get("and_facts", []), *one.get("points", [])], [])
    said = [part for part in parts if any(map(str.isalpha, part)) and not part.rstrip().endswith(":")]
    return sum(not has_any(part, belonging) for part in said)


def has_any(text, facts):
    return any(has(text, fact) for fact in facts)


def has(text, fact):
    """A fact that starts with a letter or digit is at the start of a word; after a last digit, no digit and no decimals."""
    text, fact = plain(text), plain(fact)
    start = r"(?<![^\W_])" if fact[0].isalnum() else ""
    end = r"(?![0-9]|[.,][0-9])" if fact[-1] in "0123456789" else ""
    return re.search(start + re.escape(fact) + end, text) is not None


def plain(text):
    return " ".join(text.lower().replace("`", "").replace("*", "").split())
