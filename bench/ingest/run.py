#!/usr/bin/env python3
"""Documents a second from upload to searchable: Stoa beside Chroma with the same encoder, over texts and over PDFs.

They take turns, and medians are compared. The last line holds the ratios.
"""
import argparse, hashlib, json, os, pathlib, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "embed"))
sys.dont_write_bytecode = True  # the tree stays as it is
import texts
from contender import CACHE, all_started, find_model, machine, models_folder, others, play, rates, ratio, spread
from stoa import PROGRAM, PYTHON, Family

KINDS = {"texts": "texts", "pdfs": "PDFs"}


def main(options):
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        sample = [text for text in texts.load(options.corpus, options.texts) if text]  # collections have empty ones
        counts = write_files(sample, folder, options)
        contenders = [one for one in all_contenders(folder, options) if any(part in one.name for part in options.only.split(","))]
        with all_started(contenders):
            play(contenders, options.rounds, lambda _: [(kind, [f"go {kind}"]) for kind, count in counts.items() if count])
        report(contenders, counts, options)


def write_files(sample, folder, options):
    """A folder for each kind. Returned is how many files each has."""
    for kind in KINDS:
        (folder / "files" / kind).mkdir(parents=True)
    for number, text in enumerate(sample):
        (folder / f"files/texts/text{number:05}.txt").write_text(text, encoding="utf-8")
    lines = folder / "texts.jsonl"
    lines.write_text("".join(json.dumps(text) + "\n" for text in sample), encoding="utf-8")
    if PYTHON.exists():
        command = [PYTHON, HERE / "make_pdfs.py", lines, folder / "files/pdfs", str(options.together)]
        made = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=600)
        if made.returncode:
            print(f"no PDFs: {made.stderr.strip().splitlines()[-1]}")
    return {kind: len(list((folder / "files" / kind).iterdir())) for kind in KINDS}


def all_contenders(folder, options):
    model = find_model(options.models, "model.safetensors").parent
    ours = Family("stoa", [sys.executable, HERE / "ours.py", options.stoa, folder / "stoa", folder / "files",
                           options.connections], options.timeout)
    if not options.stoa.exists():
        ours.failure = "not built: cargo build --release -p stoa"
    graphs = written_graphs(model)
    peers = [Family(f"chroma, onnxruntime {precision}", [PYTHON, HERE / "chroma.py", precision, model, graphs / f"{precision}.onnx",
                                                         folder / f"chroma-{precision}", folder / "files"], options.timeout)
             for precision in ("f32", "int8")]
    for peer in peers:
        if not PYTHON.exists():
            peer.failure = "not installed"
    return [ours, *peers]


def written_graphs(model):
    """The ONNX graphs of the same weights, kept where `make bench-embed` keeps them."""
    writer = HERE.parent / "embed/write_onnx.py"
    key = hashlib.sha256((model / "model.safetensors").read_bytes() + writer.read_bytes()).hexdigest()[:16]
    out = CACHE / "graphs" / key
    if PYTHON.exists() and not (out / "int8.onnx").exists():
        run = subprocess.run([PYTHON, writer, model, out], stderr=subprocess.PIPE, text=True, timeout=600)
        if run.returncode:
            print(f"no ONNX graph: {run.stderr.strip().splitlines()[-1]}")
    return out


def report(contenders, counts, options):
    played = {one.name: one for one in contenders if one.turns}
    files = " and ".join(f"{count} {KINDS[kind]}" for kind, count in counts.items())
    versions = next((one.ready["version"] for one in contenders if "version" in one.ready), "no peer")
    print(f"\n{machine()}; {versions}; {options.rounds} rounds; {files} "
          f"({options.corpus.name if options.corpus else 'made up'}); {options.connections} connections\n")
    print("| | kind | files/s | min–max | passages | passages/s | peak MiB | others |")
    print("|---|---|---|---|---|---|---|---|")
    for one in contenders:
        if one.name not in played:
            print(f"| {one.name} | {one.failure} | | | | | | |")
        for kind in one.turns:
            passages, peak = last(one, kind, "passages"), last(one, kind, "peak_bytes")
            print(f"| {one.name} | {KINDS[kind]} | {spread(rates(one, kind, counts[kind]))} | {passages} | "
                  f"{statistics.median(rates(one, kind, passages)):,.1f} | {peak / 2**20:,.0f} | {others(one, kind)} |")
    print("\nWhere the time goes, as shares of all stages (Stoa's documents run side by side, and their waiting counts):\n")
    for one in played.values():
        for kind in one.turns:
            print(f"- {one.name}, {KINDS[kind]}: {shares(one, kind)}")
    print("\nPeak is since the start of the process, with its children. Stoa's client runs on the same cores. `others` is how "
          "much of the machine other programs used meanwhile: with more than a few per cent, run it again.\n")
    print(ratios(played, counts))


def last(contender, kind, field):
    return contender.turns[kind][-1][field]


def shares(contender, kind):
    stages = {stage: statistics.median(turn["stages"].get(stage, 0) for turn in contender.turns[kind])
              for stage in contender.turns[kind][-1]["stages"]}
    total = sum(stages.values()) or 1
    return ", ".join(f"{stage} {100 * seconds / total:.0f} %" for stage, seconds in sorted(stages.items(), key=lambda pair: -pair[1]))


def ratios(played, counts):
    found = []
    for peer in ("chroma, onnxruntime f32", "chroma, onnxruntime int8"):
        for kind, name in KINDS.items():
            speeds = [rates(played[one], kind, counts[kind]) for one in ("stoa", peer) if one in played and kind in played[one].turns]
            found.append(f"{peer} {name} " + (f"{ratio(*speeds):.2f}" if len(speeds) == 2 else "–"))
    return "stoa / " + " · ".join(found)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--texts", type=int, default=1400)
    arguments.add_argument("--together", type=int, default=14, help="texts that a PDF holds")
    arguments.add_argument("--connections", type=int, default=32)
    arguments.add_argument("--quick", action="store_true", help="two rounds of 96 texts")
    arguments.add_argument("--corpus", type=pathlib.Path, default=os.environ.get("CORPUS") or None,
                           help="JSON lines with title and text (also: CORPUS)")
    arguments.add_argument("--models", type=pathlib.Path, default=models_folder())
    arguments.add_argument("--stoa", type=pathlib.Path, default=PROGRAM, help="the program (also: STOA)")
    arguments.add_argument("--folder", type=pathlib.Path, help="where the temporary data lies, in place of the system's")
    arguments.add_argument("--only", default="", help="contenders whose name holds one of these, with commas")
    arguments.add_argument("--timeout", type=int, default=600, help="seconds for one answer")
    options = arguments.parse_args()
    if options.quick:
        options.rounds, options.texts = 2, 96
    main(options)
