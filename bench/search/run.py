#!/usr/bin/env python3
"""The ten nearest passages of one owner among a hundred: Stoa's engine and its whole HTTP request, beside Chroma,
LanceDB, sqlite-vec and usearch on the same vectors.

They take turns, and medians are compared. The last line holds the ratios.
"""
import argparse, json, os, pathlib, random, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "embed"), str(HERE.parent / "ingest")]
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import OURS, ROOT, Contender, Failure, all_started, find_model, machine, models_folder, others, play
from stoa import PROGRAM, PYTHON, Family
from words import zipf_text

SPEED = ROOT / "target/release/examples/speed"
APPROXIMATE = "usearch HNSW, index per owner"
PEERS = {"chroma": "chroma", "lancedb": "lancedb", "sqlite-vec": "sqlite_vec", "usearch exact, matrix per owner": "usearch_exact",
         APPROXIMATE: "usearch_hnsw"}
ENGINE, HTTP = "stoa engine", "stoa over HTTP"


def main(options):
    model = find_model(options.models, "model.safetensors").parent
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        failure = make_sample(folder, model, options)
        wanted = lambda one: any(part in one.name for part in options.only.split(","))
        contenders = list(filter(wanted, all_contenders(folder, model, failure, options)))
        print("filling the stores: this takes some minutes", flush=True)
        with all_started(contenders):
            play(contenders, options.rounds, lambda one: turns(one, options))
    report(contenders, options)


def make_sample(folder, model, options):
    """Questions, their vectors, and the passages around them. Returned is why there are none."""
    if not PYTHON.exists():
        return "not installed"
    if not OURS.exists():
        return "the encoder is not built: cargo build --release -p inference --example bench"
    dice = random.Random(1)
    questions = folder / "questions.jsonl"
    questions.write_text("".join(json.dumps(zipf_text(dice, 10)) + "\n" for _ in range(options.questions)))
    encoder = Contender("encoder", [OURS, "embed", "--models", model, "--threads", 2, "--texts", questions], options.timeout)
    try:
        encoder.start()
        encoder.ask("go")
        encoder.tell(f"vectors {folder / 'questions.vectors'}")
    except Failure as failure:
        return f"no questions: {failure}"
    finally:
        encoder.stop(patience=60)
    made = subprocess.run([PYTHON, HERE / "sample.py", folder, str(options.others), *map(str, options.sizes)],
                          stderr=subprocess.PIPE, text=True, timeout=options.timeout)
    return f"no passages: {made.stderr.strip().splitlines()[-1]}" if made.returncode else None


def all_contenders(folder, model, failure, options):
    engine = Family(ENGINE, [sys.executable, HERE / "engine.py", options.engine, *options.sizes], options.timeout)
    if not options.engine.exists():
        engine.failure = "not built: cargo build --release -p retrieval --example speed"
    http = Family(HTTP, [PYTHON, HERE / "ours.py", options.stoa, model, folder, folder / "stoa"], options.timeout)
    http.failure = failure or (None if options.stoa.exists() else "not built: cargo build --release -p stoa")
    peers = [Family(name, [PYTHON, HERE / "peer.py", store, folder, folder / store], options.timeout) for name, store in PEERS.items()]
    for peer in peers:
        peer.failure = failure
    return [engine, http, *peers]


def turns(contender, options):
    modes = ["dense"] if contender.name in PEERS else ["dense", "graph"]
    return [((mode, size), [f"go {mode} {owner}"]) for mode in modes for owner, size in enumerate(options.sizes)]


def report(contenders, options):
    versions = {one.ready["version"]: None for one in contenders if "version" in one.ready}
    total = sum(options.sizes) + options.others * (100 - len(options.sizes))
    print(f"\n{machine()}; {', '.join(versions) or 'no peer'}; {options.rounds} rounds of {options.questions} questions; "
          f"{total:,} passages of 100 owners\n")
    print("| milliseconds | " + " | ".join(f"{size:,}: p50 | p99 | recall@10" for size in options.sizes) + " | others |")
    print("|---|" + "---|" * (3 * len(options.sizes) + 1))
    for one in contenders:
        if not one.turns:
            print(f"| {one.name} | {one.failure} |" + " |" * (3 * len(options.sizes)))
        for mode in dict.fromkeys(mode for mode, _ in one.turns):
            keys = [(mode, size) for size in options.sizes]
            busy = max((others(one, key) for key in keys if key in one.turns), key=lambda text: int(text.split()[0]))
            print(f"| {one.name}{'' if one.name in PEERS else f', {mode}'} | {' | '.join(cells(one, key) for key in keys)} | {busy} |")
    first = next((one.ready["first_seconds"] for one in contenders if "first_seconds" in one.ready), [])
    if first:
        print("\nThe first search over HTTP reads the passages: " + ", ".join(f"{seconds:.2f} s" for seconds in first) + ".")
    print("\n`others` is how much of the machine other programs used meanwhile: with more than a few per cent, run it again.\n")
    print(ratios(contenders, options.sizes))


def cells(contender, key):
    if key not in contender.turns:
        return " | | "
    p50, p99, recall = middle(contender, key), middle(contender, key, "p99"), contender.turns[key][-1]["recall"]
    return f"{1e3 * p50:.3f} | {1e3 * p99:.3f} | " + ("" if recall is None else f"{recall:.4f}")


def middle(contender, key, field="p50"):
    return statistics.median(turn[field] for turn in contender.turns[key])


def ratios(contenders, sizes):
    """Of a peer's p50 to that of the engine: the fastest peer's, and apart from it that of the approximate one."""
    peers = [one for one in contenders if one.name in PEERS and one.name != APPROXIMATE]
    approximate = [one for one in contenders if one.name == APPROXIMATE]
    engine = next((one for one in contenders if one.name == ENGINE), None)
    found = lambda among: " · ".join(ratio_of_fastest(engine, among, size) for size in sizes)
    return f"{APPROXIMATE} / {ENGINE}, p50: {found(approximate)}\nfastest other peer / {ENGINE}, p50: {found(peers)}"


def ratio_of_fastest(engine, peers, size):
    key = ("dense", size)
    best = min((one for one in peers if key in one.turns), key=lambda one: middle(one, key), default=None)
    if engine is None or key not in engine.turns or best is None:
        return f"{size:,}: –"
    recall = best.turns[key][-1]["recall"]
    return f"{size:,}: {middle(best, key) / middle(engine, key):.2f} ({best.name.split(',')[0]}, recall {recall:.4f})"


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--questions", type=int, default=100)
    arguments.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[1_000, 10_000, 100_000],
                           help="passages of the owners that are asked, with commas")
    arguments.add_argument("--others", type=int, default=1_000, help="passages of each other owner")
    arguments.add_argument("--quick", action="store_true", help="one round at 1,000 and 10,000, others with 100")
    arguments.add_argument("--models", type=pathlib.Path, default=models_folder())
    arguments.add_argument("--stoa", type=pathlib.Path, default=PROGRAM, help="the program (also: STOA)")
    arguments.add_argument("--engine", type=pathlib.Path, default=SPEED, help="the example `speed` of the crate `retrieval`")
    arguments.add_argument("--folder", type=pathlib.Path, help="where the temporary data lies, in place of the system's")
    arguments.add_argument("--only", default="", help="contenders whose name holds one of these, with commas")
    arguments.add_argument("--timeout", type=int, default=1800, help="seconds for one answer, or for filling a store")
    options = arguments.parse_args()
    if options.quick:
        options.rounds, options.sizes, options.others = 1, [1_000, 10_000], 100
    main(options)
