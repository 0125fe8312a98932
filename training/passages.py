#!/usr/bin/env python3
"""Lets a running program cut documents into passages, as it does for its users.

    training/passages.py http://127.0.0.1:8081 ADMIN_PASSWORD DOCUMENTS OUT [QUESTIONS]

Adds the documents of the folder and waits until they are read. Writes all their passages, as `prepare.py` reads them; with
questions, those that the search finds for each of them, as `evaluate.py` reads them.
"""

import hashlib
import json
import lzma
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

POOL = 12


def main():
    base, password, documents, out, *questions = sys.argv[1:]
    digest = hashlib.sha256(f"admin{password}".encode()).hexdigest()
    token = call(f"{base}/api/auth/login", None, {"username": "admin", "password": digest})["token"]
    for path in sorted(pathlib.Path(documents).iterdir()):
        try:
            upload(f"{base}/api/ingest", token, path)
        except urllib.error.HTTPError as error:
            print(f"{path.name}: {error.read().decode()}")
    while any(document["status"] == "processing" for document in listed(base, token)):
        time.sleep(1)
    names = {path.name for path in pathlib.Path(documents).iterdir()}
    found = found_for(base, token, questions[0]) if questions else all_of(base, token, names)
    file = open(out, "w", encoding="utf-8") if questions else lzma.open(out, "wt", encoding="utf-8")
    with file:
        for one in found:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


def all_of(base, token, names):
    for document in listed(base, token):
        if document["filename"] not in names or document["status"] != "indexed":
            continue
        read = call(f"{base}/api/documents/{document['id']}/text", token)
        for passage in read["passages"]:
            above = []
            for heading in read["headings"]:
                if heading["start"] <= passage["start"]:
                    above = [*(one for one in above if one["level"] < heading["level"]), heading]
            titles = [read["title"], *(one["text"] for one in above if one["text"] != read["title"])]
            yield {"head": " > ".join(titles), "text": units(read["text"], passage), "doc": document["filename"]}


def units(text, passage):
    """Returns a part of a text whose bounds are counted in UTF-16."""
    return text.encode("utf-16-le")[2 * passage["start"]:2 * passage["end"]].decode("utf-16-le")


def found_for(base, token, questions):
    for line in open(questions, encoding="utf-8"):
        asked = json.loads(line)
        if asked.get("history") or asked.get("points"):
            continue
        query = urllib.parse.urlencode({"query": asked["question"], "topK": POOL, "mode": "graph"})
        results = call(f"{base}/api/search?{query}", token)["results"]
        passages = [{"head": head(result["metadata"]), "text": result["text"]} for result in results]
        yield {"facts": [], **asked, "passages": passages}


def head(metadata):
    title, headings = metadata["documentTitle"], metadata.get("headings", [])
    return " > ".join(headings if headings[:1] == [title] or not title else [title, *headings])


def listed(base, token):
    """Returns all documents, which come in pages."""
    documents, page = [], "/api/documents?limit=1000"
    while page:
        with opened(base + page, token) as response:
            documents += json.load(response)["documents"]
            link = response.headers.get("Link")
        page = f"/api/documents{link[1:link.index('>')]}" if link else None
    return documents


def call(url, token, body=None):
    with opened(url, token, body) as response:
        return json.load(response)


def opened(url, token, body=None):
    request = urllib.request.Request(url, data=json.dumps(body).encode() if body else None)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("X-Api-Key", token)
    return urllib.request.urlopen(request)


def upload(url, token, path):
    boundary = uuid.uuid4().hex
    part = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{path.name}"\r\n\r\n'.encode()
    body = part + path.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    request = urllib.request.Request(url, data=body)
    request.add_header("Content-Type", f"multipart/form-data; boundary={boundary}")
    request.add_header("X-Api-Key", token)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


if __name__ == "__main__":
    main()
