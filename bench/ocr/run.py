"""Measures how much of known text is recognised: typesets pages, spoils them as scanners do, and reads them with
`extract-worker`, the child process in which Stoa reads files.

    cargo build --release -p extract --bin extract-worker
    pip install pillow && python bench/ocr/run.py target/release/extract-worker

`tesseract` and its languages `eng` and `deu` must be installed. Prints a line for each kind of page: the words that
were found of those that are there, the words that are there of those that were found, and the seconds for a page.
"""

import io
import json
import random
import re
import struct
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROOT = Path(__file__).parents[2]
FONTS = Path("/usr/share/fonts/truetype/dejavu")
PAGE = (8.27, 11.69)  # inches
GERMAN = """Die Hauptpumpe des Kühlkreislaufs läuft mit gleichbleibender Drehzahl. Ihre Lager werden mit Mineralöl
geschmiert, das alle viertausend Betriebsstunden gewechselt werden muss. Vor dem Öffnen des Gehäuses sind beide
Schieber zu schließen, bis der Druckmesser auf null steht. Eine undichte Wellendichtung ist die häufigste Störung; man
erkennt sie an Tropfen unter der Welle und am sinkenden Füllstand des Behälters. Ersatzteile bestellt die Werkstatt
unter der Nummer auf dem Typenschild. Jede Reparatur wird mit Datum, Ursache und Arbeitszeit eingetragen, damit der
Jahresbericht die Anlagen vergleichen kann. Im Winter wird der Behälter beheizt, weil zähes Öl die Zahnräder schädigt.
Besucher dürfen den Maschinenraum nur mit Gehörschutz betreten, Kinder überhaupt nicht."""


def english():
    """Returns paragraphs of the documentation, without what is no running text."""
    text = "\n\n".join(path.read_text() for path in sorted((ROOT / "docs" / "decisions").glob("*.md")))
    paragraphs = [re.sub(r"\s+", " ", part) for part in text.split("\n\n")]
    return [part for part in paragraphs if re.fullmatch(r"[\w ,.;:'()-]{200,900}", part)]


def page(paragraphs, dots, points, font):
    """Returns a page of paragraphs as a picture, and the words on it."""
    scale = dots / 72
    image = Image.new("L", tuple(round(side * dots) for side in PAGE), 255)
    draw, face = ImageDraw.Draw(image), ImageFont.truetype(str(FONTS / font), round(points * scale))
    columns = int((PAGE[0] - 2) * dots / face.getlength("n") * 1.05)
    y, words = dots, []
    for paragraph in paragraphs:
        lines = textwrap.wrap(paragraph, columns)
        if y + len(lines) * points * scale * 1.3 > (PAGE[1] - 1) * dots:
            break
        for line in lines:
            draw.text((dots, y), line, font=face, fill=0)
            y += points * scale * 1.3
        y += points * scale
        words += tokens(paragraph)
    return image, words


def spoil(image, how, dice):
    if how == "skewed":
        return image.rotate(1.0, expand=False, fillcolor=255, resample=Image.BICUBIC)
    if how == "noisy":
        noise = Image.effect_noise(image.size, 60)
        return Image.blend(image, noise, 0.25)
    if how == "blurred":
        return image.filter(ImageFilter.GaussianBlur(image.size[0] / 1600))
    return image


def tokens(text):
    return re.findall(r"\w+", text.lower())


class Worker:
    """One child process, as `Extractor` starts it."""

    def __init__(self, program, languages):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.limits = dict(seconds=60, seconds_per_mib=10, most_seconds=300, characters=20_000_000, memory=1 << 30,
                           entries=20_000, unpacked=256 << 20, expansion=200, cells=2_000_000, pages=10_000,
                           ocr=dict(languages=languages, pages=500, seconds_per_page=60))

    def read(self, name, data):
        request = json.dumps(dict(name=name, size=len(data), limits=self.limits, task="Read")).encode()
        self.process.stdin.write(struct.pack("<Q", len(request)) + request + data)
        self.process.stdin.flush()
        while True:
            (length,) = struct.unpack("<Q", self.process.stdout.read(8))
            answer = json.loads(self.process.stdout.read(length))
            if "Document" in answer:
                return answer["Document"]


def measure(worker_program, label, languages, paragraphs, dots, points, font, how, form, pages=4):
    dice = random.Random(label)
    hits = wanted = found = 0
    seconds = 0.0
    for _ in range(pages):
        image, words = page(dice.sample(paragraphs, min(len(paragraphs), 8)), dots, points, font)
        file = io.BytesIO()
        spoil(image, how, dice).save(file, form, dpi=(dots, dots), **({"quality": 60} if form == "JPEG" else {}))
        started = time.monotonic()
        answer = Worker(worker_program, languages).read(f"a.{form.lower()}", file.getvalue())
        seconds += time.monotonic() - started
        blocks = answer.get("Ok", {"blocks": []})["blocks"]
        heads = [head for block in blocks for head in block["headings"]]
        read = tokens(" ".join([block["text"] for block in blocks] + heads))
        hits += sum((Counter(words) & Counter(read)).values())
        wanted, found = wanted + len(words), found + len(read)
    print(f"{label:34} {wanted:5} words  recall {hits / wanted:.4f}  precision {hits / max(found, 1):.4f}  "
          f"{seconds / pages:5.1f} s a page", flush=True)


def main():
    program = sys.argv[1]
    texts = english()
    german = [GERMAN.replace("\n", " ")]
    for dots in (100, 150, 200, 300):
        measure(program, f"clean, serif 11 pt, {dots} dpi", "eng", texts, dots, 11, "DejaVuSerif.ttf", "", "PNG")
    measure(program, "clean, sans 10 pt, 150 dpi", "eng", texts, 150, 10, "DejaVuSans.ttf", "", "PNG")
    measure(program, "clean, sans 8 pt, 150 dpi", "eng", texts, 150, 8, "DejaVuSans.ttf", "", "PNG")
    measure(program, "JPEG 60, serif 11 pt, 150 dpi", "eng", texts, 150, 11, "DejaVuSerif.ttf", "", "JPEG")
    for how in ("skewed", "noisy", "blurred"):
        measure(program, f"{how}, serif 11 pt, 150 dpi", "eng", texts, 150, 11, "DejaVuSerif.ttf", how, "PNG")
    measure(program, "German, serif 11 pt, 150 dpi", "deu", german, 150, 11, "DejaVuSerif.ttf", "", "PNG", 1)
    measure(program, "German read as eng+deu, 150 dpi", "eng+deu", german, 150, 11, "DejaVuSerif.ttf", "", "PNG", 1)


main()
