"""The page as a browser shows it, wherever Chromium or Chrome is installed (``apt install chromium``)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from strategies.explained import measured, program

from storel.explanation.html import explain_html

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)

CHECKS = """
<script>
const found = [], all = query => [...document.querySelectorAll(query)];
const check = (what, holds) => found.push((holds ? "ok " : "wrong ") + what);
check("unfolded", all(".tree details").every(each => each.open));
all("[data-open=false]")[0].click();
check("folded", all(".tree details").every(each => !each.open));
all("[data-open=true]")[0].click();
check("unfolded again", all(".tree details").every(each => each.open));
const width = each => each.getBoundingClientRect().width;
check("bars", all(".bar.counted").some(width) && all(".bar").every(each => width(each) <= 150));
check("no overflow", document.documentElement.scrollWidth <= innerWidth);
const [box] = all(".choices input"), [stage] = all(".stages article");
check("stage shown", width(stage) > 100);
box.click();
check("stage hidden", width(stage) === 0);
all(".graph")[0].parentElement.open = true;
const link = all(".graph a")[0];
link.click();
check("link leads to a class", document.querySelector(":target").id === link.hash.slice(1));
document.body.append(Object.assign(document.createElement("output"), {textContent: found.join(", ")}));
</script>
"""


def browse(*arguments: str) -> str:
    assert BROWSER is not None
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1600")
    done = subprocess.run(
        (BROWSER, *flags, *arguments), capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_it_works_and_is_drawn(tmp_path: Path) -> None:
    this = program("searched")
    text = explain_html({"r": this.compilation}, {"r": measured(this)})
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(text.replace("</body>", f"{CHECKS}</body>"), "utf-8")
    shown = browse(f"--user-data-dir={tmp_path / 'user'}", "--dump-dom", page.as_uri())
    outcome = re.search(r"<output>(.*?)</output>", shown)
    assert outcome is not None, "a script failed"
    assert [each for each in outcome.group(1).split(", ") if not each.startswith("ok ")] == []
    page.write_text(text, "utf-8")  # as it opens: the checks follow a link, and the page scrolls
    browse(f"--user-data-dir={tmp_path / 'user'}", f"--screenshot={picture}", page.as_uri())
    assert picture.stat().st_size > 30_000, "an empty page is smaller"
