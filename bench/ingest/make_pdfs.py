"""PDFs of some pages each: `make_pdfs.py TEXTS OUT_FOLDER TEXTS_OF_A_FILE`. TEXTS holds one JSON string a line."""
import json, pathlib, sys

from fpdf import FPDF
from fpdf.enums import XPos, YPos


def main(texts, out, together):
    lines = [json.loads(line) for line in pathlib.Path(texts).read_text(encoding="utf-8").splitlines()]
    for number, start in enumerate(range(0, len(lines), together)):
        write(lines[start:start + together], f"Report {number}", pathlib.Path(out, f"report{number:05}.pdf"))


def write(texts, title, path):
    pdf = FPDF(format="A4")
    pdf.set_title(title)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 18)
    pdf.cell(0, 14, title, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    for place, text in enumerate(texts, 1):
        pdf.set_font("Helvetica", "B", 13)
        pdf.cell(0, 10, f"Section {place}", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        pdf.set_font("Helvetica", "", 11)
        pdf.multi_cell(0, 6, text.encode("latin-1", "replace").decode("latin-1"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.output(str(path))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
