"""`exprun report --html`, looked at in a real Chromium."""
import json
import re
import signal
import sqlite3
import sys
import time
import unittest

from support import ROOT, ExprunTest

sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402

EVIL = "</script><script>window.hacked = 1</script><!-- <b>bold</b>"
NAMES = "[...document.querySelectorAll('#runs tbody tr')].map(row => row.cells[1].textContent)"
COLUMN = """(title => {
  const place = [...document.querySelectorAll('#runs th')].findIndex(head => head.textContent.startsWith(title));
  return [...document.querySelectorAll('#runs tbody tr')].map(row => row.cells[place].textContent);
})"""
CHART = "Chart.getChart(document.querySelector('[data-series=\"train/loss\"] canvas'))"


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write("text.txt", (self.folder / "text.txt").read_text() + EVIL)
        for lr in "1e-3", "3e-3", "1e-2":
            self.exprun("tiny.toml", f"lr={lr}", "metrics.system_every='1 s'", "evaluation.val_loss.every='10 steps'",
                        f"evaluation.sample.prompt={json.dumps(EVIL)}", "evaluation.sample.tokens=5")
        self.page = browser.Browser()
        self.addCleanup(self.page.close)

    def open(self, *words):
        self.exprun("report", *words, "--html", "report.html")
        self.page.open(f"file://{self.folder}/report.html")
        self.assertEqual(self.page.problems, [])

    def click(self, selector):
        self.page.value(f"document.querySelector({json.dumps(selector)}).click()")

    def column(self, title):
        return self.page.value(f"{COLUMN}({json.dumps(title)})")

    def tearDown(self):
        self.assertEqual(self.page.problems, [])
        super().tearDown()

    def test_a_table_that_sorts_filters_and_chooses(self):
        self.open()
        losses = self.column("best val loss")
        self.assertEqual(losses, sorted(losses, key=float))
        self.assertEqual(len(losses), 3)
        self.assertEqual(self.page.value("document.querySelector('td.best').textContent"), losses[0])
        # By keyboard: the button in the head of lr, Enter.
        self.page.value("[...document.querySelectorAll('#runs th button')].find(b => b.textContent === 'lr').focus()")
        self.page.key("Enter", 13)
        self.assertEqual(self.column("lr"), ["0.001", "0.003", "0.01"])
        self.assertEqual(self.page.value("document.activeElement.textContent"), "lr")
        self.page.key("Enter", 13)
        self.assertEqual(self.column("lr"), ["0.01", "0.003", "0.001"])
        self.assertEqual(self.page.value("document.activeElement.closest('th').getAttribute('aria-sort')"), "descending")

        def filtered(text):
            self.page.value(f"(f => {{ f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); }})"
                            "(document.getElementById('filter'))")
            return self.column("lr"), self.page.value("document.getElementById('count').textContent")

        self.assertEqual(filtered("lr<0.01"), (["0.003", "0.001"], "2 of 3 runs"))
        self.assertEqual(filtered("lr>=0.003 optimizer.lr!=0.01 finished"), (["0.003"], "1 of 3 runs"))
        self.assertEqual(filtered("no such run"), ([], "0 of 3 runs"))
        self.assertEqual(filtered("")[1], "3 of 3 runs")
        self.click("#show-none")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 0)
        self.click("#runs tbody input")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 1)
        self.assertIn("lr=0.01", self.page.value(f"{CHART}.data.datasets[0].label"))

    def test_curves_are_those_of_the_store(self):
        self.open()
        self.assertEqual(self.page.value("[...document.querySelectorAll('#curves figcaption')].map(f => f.textContent).slice(0, 2)"),
                         ["val/loss", "train/loss"])
        name = self.page.value(NAMES)[0]
        stored = self.rows("SELECT step, value FROM metrics JOIN runs USING (run) WHERE metrics.name = 'train/loss' "
                           f"AND folder = '{name}' ORDER BY step")
        drawn = self.page.value(f"{CHART}.data.datasets.find(d => d.label.startsWith({json.dumps(name)})).data")
        self.assertEqual([(p["x"], p["y"]) for p in drawn], [(step, float(f"{value:.6g}")) for step, value in stored])

    def test_zoom_smoothing_axes_and_toggles(self):
        self.open()
        self.page.value("document.querySelector('[data-series=\"train/loss\"]').scrollIntoView()")
        box = self.page.value(f"(c => {{ const r = c.canvas.getBoundingClientRect(); return [r.left + c.chartArea.left, "
                              f"r.top + c.chartArea.top, c.chartArea.width, c.chartArea.height]; }})({CHART})")
        left, top, width, height = box
        before = self.page.value(f"[{CHART}.scales.x.min, {CHART}.scales.x.max]")
        self.page.drag((left + width * 0.25, top + height / 2), (left + width * 0.5, top + height / 2))
        after = self.page.value(f"[{CHART}.scales.x.min, {CHART}.scales.x.max]")
        expected = [before[0] + (before[1] - before[0]) * part for part in (0.25, 0.5)]
        for now, wanted in zip(after, expected):
            self.assertAlmostEqual(now, wanted, delta=0.5)
        self.click("#reset-zoom")
        self.assertEqual(self.page.value(f"[{CHART}.scales.x.min, {CHART}.scales.x.max]"), before)

        raw = self.page.value(f"{CHART}.data.datasets[0].data.map(p => p.y)")
        self.page.value("(s => { s.value = 0.9; s.dispatchEvent(new Event('input')); })(document.getElementById('smoothing'))")
        smooth = self.page.value(f"{CHART}.data.datasets[0].data.map(p => p.y)")
        mean = weight = 0.0
        for y, drawn in zip(raw, smooth):
            mean, weight = 0.9 * mean + 0.1 * y, 0.9 * weight + 0.1
            self.assertAlmostEqual(drawn, mean / weight, places=9)
        self.click("#log-y")
        self.assertEqual(self.page.value(f"{CHART}.scales.y.type"), "logarithmic")
        self.click("#legend button")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.map(d => d.hidden)"), [True, False, False])
        self.assertEqual(self.page.value("document.querySelector('#legend button').getAttribute('aria-pressed')"), "false")

    def test_text_of_the_store_is_text(self):
        self.open()
        self.assertIsNone(self.page.value("window.hacked ?? null"))
        self.assertIn(EVIL, self.page.value("document.querySelector('#samples pre').textContent"))
        self.assertEqual(self.page.value("document.querySelectorAll('#samples b').length"), 0)
        self.assertIsNone(re.search(r"(?:src|href)=|https?://(?!www\.(?:chartjs|w3)\.org)", re.sub(
            r"<script>/\*!.*?</script>", "", (self.folder / "report.html").read_text(), flags=re.S)))

    def test_dark_and_light_are_legible(self):
        self.open()
        contrast = """(() => {
          const muted = document.querySelector('#legend button[aria-pressed="true"]');
          if (muted) muted.click();
          const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
          const light = rgb => rgb.map(channel).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
          const numbers = text => text.match(/[\\d.]+/g).map(Number);
          const behind = node => { const c = numbers(getComputedStyle(node).backgroundColor);
            return c.length === 4 && c[3] === 0 ? (node.parentElement ? behind(node.parentElement) : [255, 255, 255]) : c.slice(0, 3); };
          let worst = 21;
          for (const node of document.querySelectorAll('h1, h2, p, th button, td, label, button, summary, footer, figcaption, .quiet')) {
            if (!node.textContent || !node.offsetParent) continue;
            const [a, b] = [light(numbers(getComputedStyle(node).color).slice(0, 3)), light(behind(node))].sort((x, y) => y - x);
            worst = Math.min(worst, (a + 0.05) / (b + 0.05));
          }
          const card = light(behind(document.querySelector('section')));
          const filter = document.getElementById('filter');
          const placeholder = light(numbers(getComputedStyle(filter, '::placeholder').color).slice(0, 3));
          const [a, b] = [placeholder, light(behind(filter))].sort((x, y) => y - x);
          const hex = color => [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));
          const curves = PALETTES[theme()].map(hex).map(light).map(c => (Math.max(c, card) + 0.05) / (Math.min(c, card) + 0.05));
          return [Math.min(worst, (a + 0.05) / (b + 0.05)), Math.min(...curves)];
        })()"""

        def assert_legible():
            text, curves = self.page.value(contrast)
            self.assertGreaterEqual(text, 4.5)  # WCAG AA, of text
            self.assertGreaterEqual(curves, 3)  # and of graphics

        self.assertEqual(self.page.value("document.documentElement.dataset.theme"), "light")
        assert_legible()
        self.click("#theme")
        self.assertEqual(self.page.value("document.documentElement.dataset.theme"), "dark")
        assert_legible()
        # What is read in the dark is printed on white paper, and is dark again afterwards.
        self.page.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(self.page.value("new Promise(done => setTimeout(() => done(document.documentElement.dataset.theme), 100))"), "light")
        assert_legible()
        self.assertEqual(self.page.value("Chart.getChart(document.querySelector('#curves canvas')).options.scales.x.ticks.color"), "#545d6b")
        self.page.call("Emulation.setEmulatedMedia", media="")
        self.assertEqual(self.page.value("new Promise(done => setTimeout(() => done(document.documentElement.dataset.theme), 100))"), "dark")
        self.page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.open()
        self.assertEqual(self.page.value("document.documentElement.dataset.theme"), "dark")
        self.page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        self.open()
        self.assertLessEqual(self.page.value("document.documentElement.scrollWidth"), 390)

    def test_parameters_samples_and_system_metrics(self):
        self.open()
        self.assertEqual(self.page.value("[...document.querySelectorAll('#differences th[scope=row]')].map(t => t.textContent)"),
                         ["optimizer.lr"])
        self.assertEqual(self.page.value("document.querySelectorAll('#parallel polyline').length"), 3)
        self.assertEqual(self.page.value("Chart.getChart('scatter').data.datasets[0].data.map(p => p.x).sort()"),
                         [0.001, 0.003, 0.01])
        self.click("#system-details summary")
        self.page.value("new Promise(done => setTimeout(done, 100))")
        self.assertIn("system/process_memory_bytes",
                      self.page.value("[...document.querySelectorAll('#system figcaption')].map(f => f.textContent)"))
        ticks = self.page.value("Chart.getChart(document.querySelector('[data-series=\"system/process_memory_bytes\"] canvas'))"
                                ".scales.y.ticks.map(tick => tick.label)")
        for tick in ticks:
            self.assertRegex(tick, r"^[\d.]+ MiB$")

    def test_a_thousand_runs(self):
        with sqlite3.connect(self.folder / "runs/exprun.db") as store:
            store.execute("PRAGMA foreign_keys = OFF")
            for table, key in (("run", "id"), ("attempt", "run"), ("series", "run"), ("parameter", "run")):
                columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
                new = {key: "?1", "uid": "printf('%032x', ?1)", "folder": "printf('copy-%08x', ?1)"}
                if table == "series":
                    new["id"] = "NULL"
                values = ", ".join(new.get(column, column) for column in columns)
                source = "(SELECT min(id) FROM run)"
                for i in range(1000, 2000):
                    store.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE {key} = {source}", (i,))
            store.execute("INSERT INTO metric (series, step, value, time_ms) SELECT s.id, m.step, m.value + s.run / 1e5, m.time_ms FROM series s "
                          "JOIN series o ON o.name = s.name AND o.run = (SELECT min(id) FROM run) JOIN metric m ON m.series = o.id WHERE s.run >= 1000")
        self.open()
        self.assertLess((self.folder / "report.html").stat().st_size, 5_000_000)
        self.assertEqual(self.page.value("document.getElementById('count').textContent"), "1003 of 1003 runs")
        self.assertEqual(len(self.page.value(NAMES)), 200)
        self.click("#more")
        self.assertEqual(len(self.page.value(NAMES)), 1003)

    def test_follow_writes_the_page_again_until_the_run_ends(self):
        run = self.start("tiny.toml", "steps=1000000", "run.name=long")
        end = time.monotonic() + 60
        while not self.rows("SELECT 1 FROM runs WHERE name = 'long' AND last_step > 5") and time.monotonic() < end:
            time.sleep(0.05)
        follower = self.start("report", "--html", "report.html", "--follow")
        first = self.wait_for_page(lambda text: "long-" in text)
        self.wait_for_page(lambda text: text != first)
        run.send_signal(signal.SIGINT)
        self.finish(run)
        self.assertEqual(self.finish(follower).code, 0)
        self.page.open(f"file://{self.folder}/report.html")
        self.assertIn("interrupted", self.column("state"))

    def wait_for_page(self, fits):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            file = self.folder / "report.html"
            if file.exists() and fits(text := file.read_text()):
                return text
            time.sleep(0.1)
        self.fail("the page was not written")


class Refused(ExprunTest):
    def test_what_does_not_go_with_a_page(self):
        self.exprun("tiny.toml", "steps=1")
        for words, said in ((["--follow"], "--follow needs --html FILE"),
                            (["--html", "a.html", "--over-seeds"], "--html shows each run with all its columns; leave out "
                                                                   "--columns, --group-by and --over-seeds")):
            result = self.exprun("report", *words, code=2)
            self.assertEqual((result.out, result.err), ("", f"exprun: error: command line: {said}\n"))
        self.assertFalse((self.folder / "a.html").exists())

    def test_a_folder_that_is_not_there(self):
        self.exprun("tiny.toml", "steps=1")
        result = self.exprun("report", "--html", "nowhere/a.html", code=1)
        self.assertIn("nowhere/a.html", result.err)


if __name__ == "__main__":
    unittest.main()
