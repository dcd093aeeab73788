"""The report of a results folder, and a parser of its HTML."""

from html.parser import HTMLParser

from gradrank.bench.report.document import report as render

VOID = {"meta", "link", "input", "br", "wbr"}


class Document(HTMLParser):
    """A parser that checks nesting and keeps tags, their ancestors, text, and the cells of each table by row."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.parents, self.tables, self.text = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.parents.append(tuple(self.open))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"attributes": dict(attributes), "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append(
                {"class": "", "sort": dict(attributes).get("aria-sort"), "text": ""} | dict(attributes)
            )

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)
            if {"td", "th"} & set(self.open):
                self.tables[-1]["rows"][-1][-1]["text"] += data

    def table(self, css_class):
        """Return the rows of the first table of a class, including the head."""
        return next(t["rows"] for t in self.tables if css_class in t["attributes"].get("class", "").split())


def rendered(root, convention="letor4"):
    """Write the report of root/results; return its HTML."""
    out = root / "results" / "report.html"
    render(root / "results", out, convention, root / "params.yaml", root / "data" / "parquet")
    return out.read_text(encoding="utf-8")
