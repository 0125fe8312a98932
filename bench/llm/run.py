#!/usr/bin/env python3
"""Stoa's decoder beside llama.cpp on the same GGUF file: tokens read and written a second, two threads each.

Each round reads a prompt of 1,024 tokens and writes 128 after it, then reads 32 and writes 128 after those. The last
line holds the ratios.
"""
import argparse, pathlib, statistics, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "embed"))
sys.dont_write_bytecode = True  # the tree stays as it is
from contender import (OURS, PYTHON, Contender, all_started, find_model, footprint, machine, models_folder, others, play,
                       rates, ratio, spread)

LONG, SHORT, WRITTEN = 1024, 32, 128
MEASURES = {"prefill 1024": LONG, "decode 128 after 1024": WRITTEN, "decode 128 after 32": WRITTEN}


def main(options):
    model = options.model or find_model(options.models, "*.gguf")
    contenders = [one for one in all_contenders(model, options) if any(part in one.name for part in options.only.split(","))]
    with all_started(contenders):
        play(contenders, options.rounds, turns)
    report(contenders, model, options)


def all_contenders(model, options):
    ours = [Contender(f"stoa {kernel}", [OURS, "llm", "--model", model, "--kernel", kernel, "--threads", 2], options.timeout)
            for kernel in options.kernels.split(",")]
    peers = [Contender(f"llama.cpp, flash attention {flash}", [PYTHON, HERE / "peer.py", model, flash], options.timeout)
             for flash in ("off", "on")]
    for one in [*ours, *peers]:
        if not pathlib.Path(one.command[0]).exists():
            one.failure = "not built: cargo build --release -p inference --example bench" if one in ours else "not installed"
    return [*ours, *peers]


def turns(contender):
    prefill, after_long, after_short = MEASURES
    return [(prefill, [f"prefill {LONG}"]), (after_long, [f"decode {WRITTEN}"]),
            (after_short, [f"prefill {SHORT}", f"decode {WRITTEN}"])]


def report(contenders, model, options):
    played = [one for one in contenders if one.turns]
    print(f"\n{machine()}; {model.name}; {options.rounds} rounds")
    for peer in [one for one in contenders if "system" in one.ready][:1]:
        print(f"llama-cpp-python {peer.ready['version']}: {peer.ready['system']}")
    print("\n| | " + " | ".join(f"{measure}, tokens/s | min–max | others" for measure in MEASURES) + " | MiB | load s |")
    print("|---|" + "---|" * (3 * len(MEASURES) + 2))
    for one in contenders:
        kernel = one.ready.get("kernel", "")
        name = f"{one.name} ({kernel})" if one.name == "stoa auto" and kernel else one.name
        if one not in played:
            print(f"| {name} | {one.failure} |" + " |" * (3 * len(MEASURES) + 1))
            continue
        cells = [f"{spread(rates(one, key, amount))} | {others(one, key)}" for key, amount in MEASURES.items() if key in one.turns]
        print(f"| {name} | {' | '.join(cells)} | {' | '.join(footprint(one))} |")
    print("\nMiB and load s: what the loaded model adds to the process, and how long that takes. `others` is how much of the "
          "machine other programs used meanwhile: with more than a few per cent, run it again.\n")
    print(ratios(played))


def ratios(played):
    """Of our first kernel that played, to the better setting of llama.cpp in each measure."""
    ours = next((one for one in played if one.name.startswith("stoa")), None)
    found = []
    for key, amount in MEASURES.items():
        speeds = [rates(one, key, amount) for one in played if one.name.startswith("llama.cpp")]
        best = max(filter(None, speeds), key=statistics.median, default=None)
        mine = rates(ours, key, amount) if ours else None
        found.append(f"{key} {ratio(mine, best):.2f}" if mine and best else f"{key} –")
    return "stoa / llama.cpp: " + " · ".join(found)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--quick", action="store_true", help="two rounds")
    arguments.add_argument("--models", type=pathlib.Path, default=models_folder())
    arguments.add_argument("--model", type=pathlib.Path, help="a GGUF file, in place of the one of --models")
    arguments.add_argument("--kernels", default="auto", help="of Stoa, with commas: auto, amx, vnni, avx2, portable")
    arguments.add_argument("--only", default="", help="contenders whose name holds one of these, with commas")
    arguments.add_argument("--timeout", type=int, default=300, help="seconds for one answer")
    options = arguments.parse_args()
    options.rounds = 2 if options.quick else options.rounds
    main(options)
