#!/usr/bin/env python3
"""Stoa's encoder beside onnxruntime and OpenVINO: texts a second, on the same texts, two threads each.

Every contender is a process of its own; they take turns, and medians are compared. The seconds of Stoa hold the
tokenising too, those of the peers do not. The last line holds the ratios.
"""
import argparse, array, hashlib, json, os, pathlib, statistics, subprocess, sys, tempfile

sys.dont_write_bytecode = True  # the tree stays as it is
import texts
from contender import (CACHE, OURS, PYTHON, Contender, Failure, all_started, find_model, footprint, machine,
                       models_folder, others, play, rates, ratio, spread)

HERE = pathlib.Path(__file__).resolve().parent
# Streams × batch size. OpenVINO may also cut its two threads into two streams.
SETTINGS = dict(onnxruntime=["1×4", "1×8", "1×32"], openvino=["1×8", "1×32", "2×8", "2×32"])
PEERS = [("onnxruntime", "f32"), ("onnxruntime", "int8"), ("openvino", "f32"), ("openvino", "bf16")]
REFERENCE = "onnxruntime f32"
LIMITED = "onnxruntime int8 on avx2"


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sample = texts.load(options.corpus, options.texts)
        (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in sample), encoding="utf-8")
        contenders = [one for one in all_contenders(options, folder) if any(part in one.name for part in options.only.split(","))]
        with all_started(contenders):
            name_the_chosen(contenders)
            play(contenders, options.rounds, turns)
            vectors = {one.name: embeddings(one, folder) for one in contenders if one.failure is None}
        report(contenders, vectors, len(sample), options)


def all_contenders(options, folder):
    model = find_model(options.models, "model.safetensors").parent
    sample = folder / "texts.jsonl"
    ours = [Contender(f"stoa {kernel}", [OURS, "embed", "--models", model, "--kernel", kernel, "--threads", 2,
                                         "--texts", sample], options.timeout) for kernel in ("auto", "vnni", "avx2")]
    graphs = written_graphs(model)
    peer = lambda engine, precision, *more: [PYTHON, HERE / "peer.py", engine, precision, model,
                                             graphs / ("int8.onnx" if precision == "int8" else "f32.onnx"), sample, *more]
    peers = [Contender(f"{engine} {precision}", peer(engine, precision), options.timeout) for engine, precision in PEERS]
    library = limiting_library(folder)
    peers.append(Contender(LIMITED, peer("onnxruntime", "int8", library), options.timeout))
    for one in [*ours, *peers]:
        if not pathlib.Path(one.command[0]).exists():
            one.failure = "not built: cargo build --release -p inference --example bench" if one in ours else "not installed"
    if library is None:
        peers[-1].failure = "needs x86-64, Linux and a C compiler"
    return [*ours, *peers]


def written_graphs(model):
    """The ONNX graphs, kept for the next run as long as the model and their writer stay the same."""
    writer = HERE / "write_onnx.py"
    key = hashlib.sha256((model / "model.safetensors").read_bytes() + writer.read_bytes()).hexdigest()[:16]
    out = CACHE / "graphs" / key
    if PYTHON.exists() and not (out / "int8.onnx").exists():
        run = subprocess.run([PYTHON, writer, model, out], stderr=subprocess.PIPE, text=True, timeout=600)
        if run.returncode:
            print(f"no ONNX graph: {run.stderr.strip().splitlines()[-1]}")
    return out


def limiting_library(folder):
    library = folder / "limit_cpu.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "limit_cpu.c"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return library


def name_the_chosen(contenders):
    """`auto` gets the name of the kernel that it chose, which then need not run twice."""
    chosen = contenders[0]
    if chosen.name != "stoa auto" or chosen.failure is not None:
        return
    chosen.name = f"stoa {chosen.ready['kernel']}"
    for twin in [one for one in contenders[1:] if one.name == chosen.name]:
        twin.stop()
        contenders.remove(twin)


def settings(contender):
    return SETTINGS.get(contender.name.split()[0], [""])


def turns(contender):
    return [(setting, [f"go {setting}".strip()]) for setting in settings(contender)]


def embeddings(contender, folder):
    """Asked for at last: the contender ends with them."""
    path = folder / f"{contender.name}.vectors"
    try:
        contender.tell(f"vectors {path}")
        contender.stop(patience=contender.timeout)
        return array.array("f", path.read_bytes())
    except (Failure, OSError) as failure:
        print(f"{contender.name}: no vectors: {failure}")
    return None


def report(contenders, vectors, count, options):
    played = {one.name: one for one in contenders if one.turns}
    best = {name: max(one.turns, key=lambda key: statistics.median(rates(one, key, count))) for name, one in played.items()}
    tokens = {name: one.turns[best[name]][-1]["tokens"] for name, one in played.items()}
    print(f"\n{machine()}; {versions(contenders)}; {options.rounds} rounds; {count} texts of "
          f"{max(tokens.values(), default=0) / max(count, 1):.0f} tokens ({options.corpus.name if options.corpus else 'made up'})\n")
    print("| | texts/s | min–max | setting | tokens/s | cosine, mean | min | MiB | load s | others |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in contenders:
        if one.name not in played:
            print(f"| {one.name} | {one.failure} | | | | | | | | |")
            continue
        key = best[one.name]
        speed = rates(one, key, count)
        print(f"| {one.name} | {spread(speed)} | {key} | {statistics.median(speed) * tokens[one.name] / count:,.0f} | "
              f"{cosines(vectors, one.name, count)} | {' | '.join(footprint(one))} | {others(one, key)} |")
    if len(set(tokens.values())) > 1:
        print(f"\nThe tokenisers disagree: {tokens}")
    print(f"\nCosine is to {REFERENCE}. Stoa's seconds hold the tokenising, the peers' do not. `others` is how much of "
          "the machine other programs used meanwhile: with more than a few per cent, run it again.\n")
    print(ratios({name: rates(one, best[name], count) for name, one in played.items()}))


def versions(contenders):
    found = {one.name.split()[0]: one.ready["version"] for one in contenders if "version" in one.ready}
    return ", ".join(f"{name} {version}" for name, version in found.items()) or "no peer"


def cosines(vectors, name, count):
    reference, ours = vectors.get(REFERENCE), vectors.get(name)
    if reference is None or ours is None or len(reference) != len(ours):
        return " | "
    size = len(reference) // count
    rows = [(reference[at:at + size], ours[at:at + size]) for at in range(0, len(reference), size)]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    found = [dot(a, b) / (dot(a, a) * dot(b, b)) ** 0.5 for a, b in rows]
    return f"{statistics.mean(found):.4f} | {min(found):.4f}"


def ratios(speed):
    openvino = max((name for name in speed if name.startswith("openvino")), key=lambda name: statistics.median(speed[name]), default=None)
    wanted = [("stoa amx", openvino, "amx / openvino best"), ("stoa vnni", "onnxruntime int8", "vnni / onnxruntime int8"),
              ("stoa avx2", LIMITED, f"avx2 / {LIMITED}")]
    return " · ".join(f"{label} {ratio(speed[ours], speed[theirs]):.2f}" if ours in speed and theirs in speed
                      else f"{label} –" for ours, theirs, label in wanted)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--texts", type=int, default=512)
    arguments.add_argument("--quick", action="store_true", help="two rounds of 96 texts")
    arguments.add_argument("--corpus", type=pathlib.Path, default=os.environ.get("CORPUS") or None,
                           help="JSON lines with title and text (also: CORPUS)")
    arguments.add_argument("--models", type=pathlib.Path, default=models_folder())
    arguments.add_argument("--only", default="", help="contenders whose name holds one of these, with commas")
    arguments.add_argument("--timeout", type=int, default=300, help="seconds for one answer")
    options = arguments.parse_args()
    if options.quick:
        options.rounds, options.texts = 2, 96
    main(options)
