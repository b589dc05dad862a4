"""A page as a browser sees it: elements, texts, and what would be run."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

VOID = {"meta", "input", "path", "link", "br", "wbr"}


class Page(HTMLParser):
    """Tags in order, texts and scripts; tags that do not match are complained about."""

    def __init__(self, html):
        super().__init__()
        self.open, self.attributes, self.texts, self.scripts = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)

    def all(self, tag):
        return [attributes for name, attributes in self.attributes if name == tag]


def digest(script):
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
