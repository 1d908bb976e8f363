"""The book's sources and its links: book.py prepare ROOT COPY, book.py check BOOK."""
import pathlib
import re
import shutil
import sys
import urllib.parse

# Pages that stand outside of docs/, by their names in the book. (One called README would be the folder's index.)
OUTSIDE = {"README.md": "overview.md", "CHANGELOG.md": "changelog.md", "ARCHITECTURE.md": "architecture.md",
           "CONTRIBUTING.md": "contributing.md"}


def prepare(root, copy):
    """Copies docs/, and into project/ what its pages link to outside, so that all links are inside."""
    root, copy = pathlib.Path(root).resolve(), pathlib.Path(copy)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root / "docs", copy)
    (copy / "project").mkdir()
    for name, ours in OUTSIDE.items():
        shutil.copy(root / name, copy / "project" / ours)
    entries = "".join(f"- [{ours[:-3].title()}](project/{ours})\n" for ours in OUTSIDE.values())
    with open(copy / "SUMMARY.md", "a") as summary:
        summary.write(f"\n# The project\n\n{entries}")
    for page in copy.rglob("*.md"):
        below = page.relative_to(copy)
        was = root if below.parts[0] == "project" else (root / "docs" / below).parent

        def moved(link):
            target, _, part = link.group(1).partition("#")
            if "://" in target or not target or below.name == "SUMMARY.md":
                return link.group(0)
            source = (was / target).resolve()
            if source.is_relative_to(root / "docs"):
                place = source.relative_to(root / "docs")
            else:
                place = pathlib.Path("project") / OUTSIDE.get(str(source.relative_to(root)), source.name)
                if source.is_dir():
                    return link.group(0)
                if source.name not in OUTSIDE:
                    shutil.copy(source, copy / place)
            if place.name == "README.md":
                place = place.with_name("index.md")
            up = "../" * (len(below.parts) - 1)
            return f"]({up}{place}{'#' if part else ''}{part})"

        page.write_text(re.sub(r"\]\(([^)\s]+)\)", moved, page.read_text()))


def check(book):
    """Each link of each page leads to a file, and to a part that is in it. Answers how many do not."""
    book, links, dead = pathlib.Path(book), 0, []
    for page in sorted(book.rglob("*.html")):
        if page.name in ("print.html", "404.html", "toc.html"):
            continue
        text = page.read_text()
        for link in re.findall(r'href="([^"]+)"', text[text.find("<main>"):text.find("</main>")]):
            target, _, part = urllib.parse.unquote(link).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            links += 1
            place = page.parent / target if target else page
            if not place.is_file() or (part and f'id="{part}"' not in place.read_text()):
                dead.append(f"{page.relative_to(book)}: {link}")
    print(f"{links} links inside the book, {len(dead)} of them lead nowhere")
    print("\n".join(dead), end="\n" if dead else "")
    return len(dead)


if sys.argv[1] == "prepare":
    prepare(*sys.argv[2:])
else:
    sys.exit(1 if check(*sys.argv[2:]) else 0)
