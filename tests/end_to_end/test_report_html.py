"""`exprun report --html`, looked at in a real Chromium."""
import fcntl
import json
import os
import re
import signal
import socket
import sys
import time
import unittest

from made_runs import MadeRuns, run_rows
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
class PageTest(MadeRuns):
    def setUp(self):
        super().setUp()
        self.page = browser.Browser()
        self.addCleanup(self.page.close)

    def tearDown(self):
        self.assertEqual(self.page.problems, [])
        super().tearDown()

    def open(self, *words):
        self.exprun("report", *words, "--html", "report.html")
        self.page.open(f"file://{self.folder}/report.html")
        self.assertEqual(self.page.problems, [])

    def click(self, selector):
        self.page.value(f"document.querySelector({json.dumps(selector)}).click()")

    def filter(self, text):
        """Returns what the page says is wrong."""
        self.page.value(f"(f => {{ f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); }})"
                        "(document.getElementById('filter'))")
        return self.page.value("document.getElementById('filter-error').textContent")

    def chart_box(self):
        """Left, top, width and height of the area of the curves of train/loss, in the window."""
        self.page.value("document.querySelector('[data-series=\"train/loss\"]').scrollIntoView()")
        return self.page.value(f"(c => {{ const r = c.canvas.getBoundingClientRect(); return [r.left + c.chartArea.left, "
                               f"r.top + c.chartArea.top, c.chartArea.width, c.chartArea.height]; }})({CHART})")

    def shown_steps(self):
        return self.page.value(f"[{CHART}.scales.x.min, {CHART}.scales.x.max]")

    def column(self, title):
        return self.page.value(f"{COLUMN}({json.dumps(title)})")


@unittest.skipUnless(browser.program(), "no Chromium")
class Page(PageTest):
    def setUp(self):
        super().setUp()
        self.write("text.txt", (self.folder / "text.txt").read_text() + EVIL)
        for lr in "1e-3", "3e-3", "1e-2":
            self.exprun("tiny.toml", f"lr={lr}", "metrics.system_every='1 s'", "evaluation.val_loss.every='10 steps'",
                        f"evaluation.sample.prompt={json.dumps(EVIL)}", "evaluation.sample.tokens=5")

    def test_a_table_that_sorts_filters_and_chooses(self):
        self.open()
        losses = self.column("best val/loss")
        self.assertEqual(losses, sorted(losses, key=float))
        self.assertEqual(len(losses), 3)
        self.assertEqual(self.page.value("document.querySelector('td.best').textContent"), losses[0])
        # By keyboard: the button in the head of lr, Enter.
        self.page.value("[...document.querySelectorAll('#runs th button')].find(b => b.textContent === 'lr').focus()")
        self.page.key("Enter", 13, "\r")
        self.assertEqual(self.column("lr"), ["0.001", "0.003", "0.01"])
        self.assertEqual(self.page.value("document.activeElement.textContent"), "lr")
        self.page.key("Enter", 13, "\r")
        self.assertEqual(self.column("lr"), ["0.01", "0.003", "0.001"])
        self.assertEqual(self.page.value("document.activeElement.closest('th').getAttribute('aria-sort')"), "descending")

        for text, rows in (("lr<0.01", ["0.003", "0.001"]), ("lr>=0.003 and optimizer.lr!=0.01 and state=finished", ["0.003"]),
                           ("FINISHED tiny 0.003", ["0.003"]), ("no such run", []), ("", ["0.01", "0.003", "0.001"])):
            self.filter(text)
            self.assertEqual((self.column("lr"), self.page.value("document.getElementById('count').textContent")),
                             (rows, f"{len(rows)} of 3 runs"))
        self.click("#show-none")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 0)
        self.click("#runs tbody input")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 1)
        self.assertIn("lr=0.01", self.page.value(f"{CHART}.data.datasets[0].label"))

    def test_different_data_are_told_beside_the_table(self):
        shown = "(p => p.hidden ? '' : p.textContent)(document.getElementById('of-data'))"
        self.open()
        self.assertEqual(self.page.value(shown), "")
        self.change_store("UPDATE run SET data_fingerprint = 'other' WHERE id = 1")
        self.open()
        self.assertEqual(self.page.value(shown), "these runs were trained on 2 different datasets, so their losses may not be comparable")

    def test_curves_are_those_of_the_store(self):
        self.open()
        self.assertEqual(self.page.value("[...document.querySelectorAll('#curves figcaption')].map(f => f.textContent).slice(0, 2)"),
                         ["val/loss", "train/loss"])
        name = self.page.value(NAMES)[0]
        stored = self.rows("SELECT step, value FROM metrics JOIN runs USING (run) WHERE metrics.name = 'train/loss' "
                           f"AND folder = '{name}' ORDER BY step")
        drawn = self.page.value(f"{CHART}.data.datasets.find(d => d.label.startsWith({json.dumps(name)})).data")
        self.assertEqual([(p["x"], p["y"]) for p in drawn], [(step, float(f"{value:.6g}")) for step, value in stored])

    def test_a_chart_has_a_run_that_is_shown(self):
        self.exprun("tiny.toml", "validation_fraction=0")
        self.open()
        (without,) = (name for (name,) in self.rows("SELECT folder FROM runs WHERE run = 4"))
        clicks = [f"document.querySelectorAll('#runs tbody input')[{row}].click()"
                  for row, name in enumerate(self.page.value(NAMES)) if name != without]
        height = "document.querySelector('[data-series=\"val/loss\"]').getBoundingClientRect().height"
        plot = "Chart.getChart(document.querySelector('[data-series=\"val/loss\"] canvas')).chartArea.height"
        before = self.page.value(plot)
        self.assertGreater(before, 50)
        for click in clicks:
            self.assertGreater(self.page.value(height), before)
            self.page.value(click)
        self.assertEqual(self.page.value(height), 0)
        self.page.value(clicks[0])
        self.assertEqual(self.page.value(f"new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({plot}))))"), before)

    def test_zoom_smoothing_axes_and_toggles(self):
        self.open()
        left, top, width, height = self.chart_box()
        before = self.shown_steps()

        def assert_zoomed(begin, end):
            for now, part in zip(self.shown_steps(), (begin, end)):
                self.assertAlmostEqual(now, before[0] + (before[1] - before[0]) * part, delta=0.5)

        middle = top + height / 2
        self.page.drag((left + width * 0.25, middle), (left + width * 0.5, middle))
        assert_zoomed(0.25, 0.5)
        self.click("#reset-zoom")
        self.assertEqual(self.shown_steps(), before)
        self.page.swipe((left + width * 0.5, middle), (left + width * 0.75, middle))
        assert_zoomed(0.5, 0.75)
        self.page.double_click(left + width / 2, middle)
        self.assertEqual(self.shown_steps(), before)
        self.click("#zoom-in")
        assert_zoomed(0.25, 0.75)
        self.click("#zoom-out")
        self.assertEqual(self.shown_steps(), before)

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
        self.click("#legend button")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.map(d => d.hidden)"), [False, False, False])
        self.click("#log-x")
        self.assertEqual(self.page.value(f"{CHART}.scales.x.type"), "logarithmic")
        self.click("#show-none")
        self.assertEqual(self.page.value("document.querySelectorAll('#legend button').length"), 0)
        self.click("#show-all")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 3)

    def test_by_keyboard_a_checkbox_keeps_the_focus_and_a_chart_tells_its_values(self):
        self.open()
        self.page.value("document.querySelectorAll('#runs tbody input')[1].focus()")
        self.page.key(" ", 32, " ")
        self.assertEqual(self.page.value("[document.activeElement.checked, document.activeElement.getAttribute('aria-label'), "
                                         "document.activeElement.nextSibling.style.background]"),
                         [False, f"Show {self.page.value(NAMES)[1]}", ""])
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.length"), 2)

        self.page.value("document.querySelector('[data-series=\"train/loss\"] .canvas').focus()")

        def told():
            return self.page.value("document.querySelector('[data-series=\"train/loss\"] output').textContent")

        self.page.key("ArrowRight", 39)
        first = self.page.value(f"{CHART}.data.datasets.map(d => [d.label, d.data[0].y])")
        self.assertEqual(told(), "step 1: " + "; ".join(f"{label}: {float(f'{y:.4g}'):g}" for label, y in sorted(first, key=lambda v: v[1])))
        self.page.key("ArrowRight", 39)
        self.assertTrue(told().startswith("step 2: "), told())
        self.page.key("End", 35)
        self.assertTrue(told().startswith("step 40: "), told())
        self.assertEqual(self.page.value(f"{CHART}.tooltip.getActiveElements().length"), 2)
        self.page.key("+", 187, "+")
        self.assertEqual(self.shown_steps(), [20, 40])
        self.page.key("Home", 36)
        self.assertTrue(told().startswith("step 20: "), told())
        self.page.key("-", 189, "-")
        self.assertEqual(self.shown_steps(), [0, 40])
        self.page.key("Escape", 27)
        self.assertEqual((told(), self.shown_steps()[0]), ("", 0))
        self.assertEqual(self.page.value("document.getElementById('theme').textContent"), "Dark theme")
        self.assertIsNone(self.page.value("document.getElementById('theme').getAttribute('aria-label')"))

    def test_a_chart_is_a_widget_for_screen_readers(self):
        self.open()
        chart = "document.querySelector('[data-series=\"train/loss\"] .canvas')"
        self.assertEqual(self.page.value(f"['role', 'aria-roledescription', 'aria-label', 'tabindex'].map(name => {chart}.getAttribute(name))"),
                         ["application", "chart", "Curves of train/loss", "0"])
        self.assertEqual(self.page.value(f"{chart}.firstChild.getAttribute('aria-hidden')"), "true")
        # What is wrong with the filter is told from its first time on.
        self.assertEqual(self.page.value("getComputedStyle(document.getElementById('filter-error')).display"), "block")

    def test_logarithmic_steps_zoom_from_nothing_and_below(self):
        self.open()
        for first in 0, -5:
            self.page.value(f"zoomTo([{first}, 10])")
            self.click("#log-x")
            self.click("#zoom-in")
            begin, end = self.page.value("state.zoom")
            self.assertAlmostEqual(begin, 10 ** 0.25)
            self.assertAlmostEqual(end, 10 ** 0.75)
            self.click("#log-x")
        self.click("#log-x")
        self.page.value("(zoomBy(1, 0), zoomTo([NaN, 3]), zoomTo([1, Infinity]))")
        begin, end = self.page.value("state.zoom")
        self.assertTrue(1 <= begin < end <= 10, (begin, end))

    def test_two_fingers_are_no_drag(self):
        self.open()
        left, top, width, height = self.chart_box()
        before, middle = self.shown_steps(), top + height / 2

        def touch(kind, *shares):
            self.page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[
                {"x": left + width * share, "y": middle, "id": finger} for finger, share in enumerate(shares)])

        for kind, shares in (("touchStart", (0.2,)), ("touchStart", (0.2, 0.6)), ("touchMove", (0.3, 0.9)), ("touchEnd", ())):
            touch(kind, *shares)
        self.assertEqual(self.shown_steps(), before)
        self.assertEqual(self.page.value("document.querySelectorAll('.band').length"), 0)
        # One that the drag did not begin with does not end it.
        self.page.value("document.querySelector('[data-series=\"train/loss\"] .canvas').setPointerCapture = () => {}")
        for kind, pointer, share in (("down", 1, 0.25), ("move", 2, 0.9), ("up", 2, 0.9), ("cancel", 2, 0.9), ("move", 1, 0.5), ("up", 1, 0.5)):
            self.page.value(f"document.querySelector('[data-series=\"train/loss\"] .canvas').dispatchEvent(new PointerEvent('pointer{kind}', "
                            f"{{ pointerId: {pointer}, button: 0, clientX: {left + width * share}, clientY: {middle} }}))")
        for now, part in zip(self.shown_steps(), (0.25, 0.5)):
            self.assertAlmostEqual(now, before[0] + (before[1] - before[0]) * part, delta=0.5)

    def test_a_chart_without_a_cursor_is_drawn_once(self):
        self.open()
        self.page.value(f"(window.updates = 0, {CHART}.update = (real => function (mode) {{ ++window.updates; return real.call(this, mode); }})"
                        f"({CHART}.update))")
        self.click("#legend button")
        self.assertEqual(self.page.value("window.updates"), 1)
        # With one, the values follow.
        self.page.value("document.querySelector('[data-series=\"train/loss\"] .canvas').focus()")
        self.page.key("ArrowRight", 39)
        told = "document.querySelector('[data-series=\"train/loss\"] output').textContent.split(';').length"
        self.assertEqual(self.page.value(told), 2)
        self.page.value("(state.muted.clear(), drawCurves())")
        self.assertEqual(self.page.value(told), 3)
        self.page.key("Escape", 27)
        self.assertEqual(self.page.value(f"[{told}, {CHART}.tooltip.getActiveElements().length]"), [1, 0])

    def test_the_pointer_is_told_the_values_below_it(self):
        self.open()
        left, top, width, height = self.chart_box()
        self.page.move(left + width / 2, top + height / 2)
        self.page.value("new Promise(done => setTimeout(done, 100))")
        (title,), lines = self.page.value(f"[{CHART}.tooltip.title, {CHART}.tooltip.body.map(b => b.lines[0])]")
        step = int(title.removeprefix("step "))
        self.assertAlmostEqual(step, sum(self.shown_steps()) / 2, delta=1)
        shown = self.page.value(f"{CHART}.data.datasets.map(d => [d.label, d.data.find(p => p.x === {step}).y])")
        self.assertEqual(lines, [f" {label}: {float(f'{y:.4g}'):g}" for label, y in sorted(shown, key=lambda v: v[1])])

    def test_the_filter_takes_conditions_and_says_what_is_wrong(self):
        self.open()
        rates = {"0.001", "0.003", "0.01"}
        for text, rows in (
                ("lr in [1e-3, 0.01]", {"0.001", "0.01"}), ("lr not in [1e-3, 0.01]", {"0.003"}), ("not lr = 1e-3", {"0.003", "0.01"}),
                ("lr = 1e-3 or lr = 1e-2 and state = failed", {"0.001"}), ("(lr = 1e-3 or lr = 1e-2) and state = failed", set()),
                ("run ~ tiny-*", rates), ("run ~ ?iny", set()), ("has(best val/loss) and step >= 0.04k", rates), ("val/loss < 1e9", rates),
                ("state == 'finished'", rates), ("best val/loss>=0 and (lr!=0.01)", {"0.001", "0.003"}), ("NOT (lr<1 AND lr>0.002)", {"0.001"})):
            self.assertEqual((self.filter(text), set(self.column("lr"))), ("", rows), text)
        for text, said in (
                ("lr <", "expected a value, but the condition ends here"), ("lrr < 1", "there is no column lrr; there are run, best val/loss"),
                ("lr < 1 lr > 0", "unexpected > after a whole condition: write 'and' or 'or' between two conditions"), ("(lr < 1", "expected ), but the condition ends here"), ("lr < abc", "lr is a number, but abc is not"),
                ("state = finishd", "there is no state finishd; there are running, finished"), ("lr = 1)", "this ) closes nothing: leave it out"),
                ("lr<0.01 state=finished", "unexpected = after a whole condition: write 'and' or 'or' between two conditions"),
                ("lr < 1 && state = finished", "there is no &&: write 'and'"), ("lr < 1 || lr > 2", "there is no ||: write 'or'"),
                ("lr <> 1", "there is no <>: write !="), ("!(lr = 1)", "there is no !: write 'not'"), ("(lr = 1) lr", "unexpected lr: write 'and' or 'or' before it"),
                *((f"{name} < 3", f"this page does not have {lacks}, as --where has: min, max, last, at are not here; name a column of the table")
                  for name, lacks in (("min(val/loss)", "min()"), ("at(val/loss, 2)", "at()"), ("val/loss:min", ":min"), ("val/loss:at(2)", ":at"))),
                ("lr in [1e-3", "expected ], but the condition ends here"), ("run < a", "< compares numbers, but a is not a number"),
                ("lr = \"1", 'unexpected ": put a text that has such characters in quotes'), ("=", "expected the name of a column, but found =")):
            mistake = self.filter(text)
            self.assertIn(f"Not filtered: {said}", mistake)
            self.assertEqual(len(self.column("lr")), 3)
            self.assertEqual(self.page.value("document.getElementById('filter').getAttribute('aria-invalid')"), "true")
        self.assertEqual(self.filter(""), "")

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
          for (const node of document.querySelectorAll('h1, h2, p, th button, td, label, button, summary, footer, figcaption, pre, select, output, code, td.bad, .mistake, .quiet')) {
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

        # What is there at times only: a bad end, a mistake in the filter, the values at the cursor.
        self.page.value("document.querySelector('#runs tbody td:last-child').className = 'bad'")
        self.filter("lr <")
        self.page.value("document.querySelector('#curves .canvas').focus()")
        self.page.key("ArrowRight", 39)
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


@unittest.skipUnless(browser.program(), "no Chromium")
class MadePage(PageTest):
    def test_an_empty_store(self):
        self.make_store()
        self.open()
        self.assertEqual(self.page.value("document.querySelector('#runs tbody').textContent"), "There are no runs yet.")
        self.assertEqual(self.page.value("document.getElementById('count').textContent"), "0 of 0 runs")
        for button in ("#show-all", "#show-best", "#zoom-in", "#reset-zoom", "#theme"):
            self.click(button)

    def test_a_gap_one_point_and_hostile_names(self):
        losses = {1: 3.0, 2: None, 3: 2.0}
        self.make_store(run_rows(1, EVIL, parameters={"optimizer.type": json.dumps(EVIL), "optimizer.lr": "1"}, series={"train/loss": losses, EVIL: {1: 1.0}}),
                        run_rows(2, "one", parameters={"optimizer.type": '"b"', "optimizer.lr": "2"}, series={"train/loss": {1: 4.0}}))
        self.open()
        gap, one = self.page.value(f"{CHART}.data.datasets.map(d => [d.data.map(p => p.y), d.spanGaps, d.pointRadius])")
        self.assertEqual((gap, one), ([[3, None, 2], False, 3], [[4], False, 3]))
        self.page.value("document.querySelector('[data-series=\"train/loss\"] .canvas').focus()")
        for key, code in (("ArrowRight", 39), ("ArrowRight", 39)):
            self.page.key(key, code)
        self.assertEqual(self.page.value("document.querySelector('[data-series=\"train/loss\"] output').textContent"),
                         f"step 2: {EVIL} lr=1 optimizer.type={EVIL}: nan")
        self.assertIsNone(self.page.value("window.hacked ?? null"))
        self.assertEqual(self.page.value("document.querySelectorAll('main b').length"), 0)
        self.assertEqual(self.page.value(NAMES), [EVIL, "one"])
        for place in ("#legend", "#differences", "#parallel", "#runs td", "#curves figcaption", "#scatter-x"):
            self.assertTrue(self.page.value(f"[...document.querySelectorAll('{place}')].some(e => e.textContent.length > 0)"), place)
        self.assertIn(EVIL, self.page.value("document.querySelector('#legend').textContent"))
        self.assertIn(EVIL, self.page.value("document.querySelector('#differences').textContent"))
        self.assertIn(EVIL, self.page.value("[...document.querySelectorAll('#curves figcaption')].map(f => f.textContent)"))
        self.filter(EVIL)
        self.filter(f'run = "{EVIL}"')
        self.assertEqual(self.page.value(NAMES), [EVIL])

    def test_the_metric_of_the_runs_comes_first_best_values_first_and_tags_are_asked_for(self):
        self.make_store(*map(self.tagged_run, range(1, 16)))
        self.open()
        self.click("#show-all")
        self.assertEqual(self.page.value("[...document.querySelectorAll('#curves figcaption')].map(f => f.textContent)"),
                         ["zz/quality", "val/loss", "train/loss", "aa", "lr"])
        for name, runs in (("zz/quality", range(15, 3, -1)), ("val/loss", range(2, 14))):
            self.page.value(f"document.querySelector('[data-series=\"{name}\"] .canvas').focus()")
            self.page.key("ArrowRight", 39)
            told = self.page.value(f"document.querySelector('[data-series=\"{name}\"] output').textContent")
            self.assertEqual(told, "step 1: " + "; ".join([*(f"run-{run:02} seed={run}: {run}" for run in runs), "3 more"]))
            self.page.value("document.activeElement.blur()")
            chart = f"Chart.getChart(document.querySelector('[data-series=\"{name}\"] canvas'))"
            self.page.value(f"{chart}.tooltip.setActiveElements(pointsAt({chart}, 1), {{ x: 0, y: 0 }})")
            self.page.value(f"{chart}.update()")
            self.assertEqual(self.page.value(f"{chart}.tooltip.body.map(b => b.lines[0])"), [f" run-{run:02} seed={run}: {run}" for run in runs])
        for text, count in (("tag(old)", 5), ("tag('very old')", 1), ("not tag(old) and seed > 5", 10), ("tag(ol)", 0)):
            self.assertEqual((self.filter(text), len(self.page.value(NAMES))), ("", count), text)
        self.assertIn("expected a tag, but found )", self.filter("tag()"))

    def tagged_run(self, run):
        value = {1: float(run), 2: float(run)}
        parameters = {"run.best_metric": '"zz/quality"', "run.best_goal": '"maximize"', "run.seed": str(run)}
        tags = [*(["old"] if run <= 5 else []), *(["very old"] if run == 1 else [])]
        rows = run_rows(run, f"run-{run:02}", parameters=parameters, series={
            "lr": value, "aa": value, "train/loss": value, "val/loss": value if run > 1 else {1: None, 2: None}, "zz/quality": value})
        return [*rows, *(("INSERT INTO tag (run, name) VALUES (?, ?)", (run, tag)) for tag in tags)]

    def make_wide_runs(self):
        """Runs of many parameters, with samples and with system metrics."""
        kinds = ("optimizer.lr", "run.seed", "run.steps", "model.num_layers", "model.hidden_size", "model.num_heads", "optimizer.beta1",
                 "optimizer.beta2", "optimizer.weight_decay", "data.batch_size")
        self.make_store(*(run_rows(run, f"quite-long-{run:08x}", parameters={
            **{kind: str(1000 * run + i) for i, kind in enumerate(kinds)}, "optimizer.beta1": ("10000", "1000000", "20000")[run - 1]}, series={
            "train/loss": {step: 900 * run / step + 2 for step in range(1, 301)},
            "val/loss": {step: 1 + run / 1000 + step / 1e5 for step in range(1, 21)},
            "system/disk_free_bytes": {step: 62.57 * 2**30 + 1e5 * run * step for step in range(1, 101)},
            "system/process_memory_bytes": {step: 124 * 2**20 + 2e5 * step for step in range(1, 101)}}) for run in (1, 2, 3)))
        for run in 1, 2, 3:
            self.write(f"runs/quite-long-{run:08x}/samples/step1.txt", f"sample of {run}")

    def settle(self):
        self.page.value("new Promise(done => setTimeout(done, 200))")

    def test_paper_has_room_for_charts_and_runs_and_shows_what_is_closed(self):
        self.make_wide_runs()
        # Chromium lays out pages to print without telling any observer.
        self.page.call("Page.addScriptToEvaluateOnNewDocument",
                       source="window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} }")
        self.open()
        self.page.call("Emulation.setDeviceMetricsOverride", width=717, height=1000, deviceScaleFactor=1, mobile=False)  # A4 within margins
        self.page.call("Emulation.setEmulatedMedia", media="print")
        self.settle()
        charts = self.page.value("""[...document.querySelectorAll('.canvas')].map(box => {
          const [drawn, cell] = [box.firstChild, box].map(node => node.getBoundingClientRect());
          return [drawn.width, cell.width, cell.right, drawn.height, box.firstChild.width / box.firstChild.height];
        })""")
        self.assertEqual(len(charts), 5)
        for width, cell, right, height, shape in charts:
            self.assertLessEqual(width, cell)
            self.assertLessEqual(right, 717)
            self.assertAlmostEqual(width / height, shape, delta=0.1)
        lines = """(selector => [...document.querySelectorAll(selector)].filter(node => node.textContent.startsWith('quite-long')).map(node => {
          const text = document.createRange();
          text.selectNodeContents(node);
          return [node.textContent, text.getClientRects().length];
        }))"""
        names = [[f"quite-long-{run:08x}", 1] for run in (1, 2, 3)]
        self.assertEqual(self.page.value(f"{lines}('#runs td')"), names)
        self.assertEqual(self.page.value(f"{lines}('#differences th')"), names)
        self.assertLessEqual(self.page.value("Math.max(...[...document.querySelectorAll('th, td, svg')].map(cell => cell.getBoundingClientRect().right))"), 717)
        # What has no room in a run's row stands below it.
        told = self.page.value("document.querySelector('#runs .below').textContent")
        for parameter in "hidden_size=1004", "weight_decay=1008", "batch_size=1009":
            self.assertIn(parameter, told)
        self.assertEqual(self.page.value("[...document.querySelectorAll('#samples pre')].filter(text => text.offsetHeight > 0).length"), 3)
        breaks = "['section', '.chart'].map(of => getComputedStyle(document.querySelector(of)).breakInside)"
        self.assertEqual(self.page.value(breaks), ["auto", "avoid"])

    def test_after_printing_the_page_is_as_before(self):
        self.make_wide_runs()
        self.open()
        self.click("#theme")
        looks = ("[theme(), [...document.querySelectorAll('details')].map(node => node.open), document.querySelectorAll('#runs .below').length, "
                 "[...document.querySelectorAll('#curves canvas')].map(canvas => canvas.getBoundingClientRect().width)]")
        before = self.page.value(looks)
        self.page.value("(window.printed = [], addEventListener('beforeprint', () => window.printed.push(theme(), "
                        "document.querySelectorAll('#system canvas').length, document.querySelectorAll('details:not(.no-print):not([open])').length)))")
        self.page.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        self.settle()
        self.assertEqual(self.page.value("window.printed"), ["light", 2, 0])
        self.assertEqual(self.page.value(looks), before)

    def test_parallel_coordinates_are_legible_on_a_phone(self):
        self.make_wide_runs()
        self.page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        self.open()
        sizes = self.page.value("[...document.querySelectorAll('#parallel text')].map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)")
        self.assertGreaterEqual(min(sizes), 11)
        self.assertLessEqual(self.page.value("document.documentElement.scrollWidth"), 390)
        # Neither blank above nor below, nor one text across another.
        self.assertEqual(self.page.value("""(svg => {
          const all = [...svg.querySelectorAll('text')].map(text => text.getBoundingClientRect()), box = svg.getBoundingClientRect();
          const meet = (a, b) => a !== b && a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
          return [Math.min(...all.map(text => text.top)) - box.top < 12, box.bottom - Math.max(...all.map(text => text.bottom)) < 12, all.some(a => all.some(b => meet(a, b)))];
        })(document.querySelector('#parallel svg'))"""), [True, True, False])
        # It scrolls by keyboard too, and its frame leaves the line below a chart alone.
        self.page.value("document.getElementById('parallel').focus()")
        self.page.key("ArrowRight", 39)
        self.settle()
        self.assertGreater(self.page.value("document.getElementById('parallel').scrollLeft"), 0)
        self.page.value("document.querySelector('#curves .canvas').focus()")
        self.page.key("ArrowRight", 39)
        frame, line = self.page.value("""(box => { const look = getComputedStyle(box);
          return [box.getBoundingClientRect().bottom + parseFloat(look.outlineWidth) + parseFloat(look.outlineOffset), box.nextSibling.getBoundingClientRect().top];
        })(document.querySelector('#curves .canvas'))""")
        self.assertLessEqual(frame, line)

    def labels(self, series, axis):
        return self.page.value(f"Chart.getChart(document.querySelector('[data-series=\"{series}\"] canvas')).scales.{axis}.ticks.map(tick => tick.label)")

    def test_no_two_ticks_read_alike(self):
        self.make_wide_runs()
        self.open()
        self.click("#system-details summary")
        self.settle()
        for change in ("null", "state.zoom = [3, 17]", "state.logY = true", "state.logX = true", "state.zoom = null"):
            self.page.value(f"({change}, drawCurves())")
            for series in "train/loss", "val/loss", "system/disk_free_bytes", "system/process_memory_bytes":
                for axis in "x", "y":
                    labels = self.labels(series, axis)
                    self.assertGreaterEqual(len(labels), 2, (change, series, axis))
                    self.assertEqual(len(set(labels)), len(labels), labels)
        for label in (*self.labels("train/loss", "x"), *self.labels("train/loss", "y")):
            self.assertRegex(label, r"^[125]0*$")
        self.page.value("(state.logX = state.logY = false, drawCurves())")
        self.assertEqual(self.labels("system/process_memory_bytes", "y"), ["120 MiB", "125 MiB", "130 MiB", "135 MiB", "140 MiB", "145 MiB"])
        self.assertEqual(self.page.value("formatTogether([62.57, 62.575, 62.58].map(value => value * 2 ** 30), true, true)"),
                         ["62.570 GiB", "62.575 GiB", "62.580 GiB"])
        self.assertEqual(self.page.value("[logarithmicTicks(1e-7, 1e3), logarithmicTicks(1, 60), logarithmicTicks(2.7, 3.1), formatTogether([0.0003, 10])]"),
                         [[1e-6, 1e-4, 0.01, 1, 100], [1, 2, 5, 10, 20, 50], [2.7, 2.8, 2.9, 3, 3.1], ["0.0003", "10"]])
        # One notation along an axis of the parallel coordinates.
        self.assertEqual(self.page.value("[...document.querySelectorAll('#parallel text')].slice(0, 3).map(text => text.textContent)"), ["beta1", "1e6", "1e4"])

    def test_a_wide_table_keeps_the_run_in_sight_and_its_end_before_its_parameters(self):
        self.make_wide_runs()
        self.open()
        heads = self.page.value("[...document.querySelectorAll('#runs th')].map(head => head.textContent)")
        self.assertLess(max(map(heads.index, ("step", "state", "time"))), min(map(heads.index, ("lr", "seed", "batch_size"))))
        self.page.call("Emulation.setDeviceMetricsOverride", width=800, height=900, deviceScaleFactor=1, mobile=False)
        left, scrolled, shown = self.page.value("""(box => {
          box.scrollLeft = 10000;
          const cell = document.querySelector('#runs tbody td:nth-child(2)').getBoundingClientRect();
          return [cell.left - box.getBoundingClientRect().left, box.scrollLeft, document.elementFromPoint(cell.left + 5, cell.top + 5).textContent];
        })(document.querySelector('.scroll'))""")
        self.assertGreater(scrolled, 100)
        self.assertEqual((left, shown), (0, self.page.value(NAMES)[0]))

    def test_patterns_end_that_a_regular_expression_would_not(self):
        self.make_store(run_rows(1, "a" * 100), run_rows(2, "ab.c"))
        self.open()
        for pattern, count in (("*a" * 30 + "*c", 0), ("*a*a*a*b", 0), ("a?.c", 1), ("a?", 0), ("*", 2), ("a*a", 1), ("?b*", 1), ("ab.c**", 1)):
            self.assertEqual((self.filter(f"run ~ {pattern}"), len(self.page.value(NAMES))), ("", count), pattern)

    def test_samples_of_control_characters_keep_the_page_small(self):
        self.make_store(*(run_rows(run, f"run-{run}") for run in range(1, 61)))
        for run in range(1, 61):
            self.write(f"runs/run-{run}/samples/step1.txt", "\x01" * 20_000)
        self.open()
        self.assertLess((self.folder / "report.html").stat().st_size, 2_000_000)

    def test_a_thousand_runs_with_all_they_have(self):
        names = ["val/loss", "train/loss", "grad_norm", *(f"system/{i}" for i in range(22))]
        self.make_store(*(run_rows(run, f"slow-{run:08x}", parameters={
            "optimizer.lr": f"{run % 7 + 1}e-4", "run.seed": str(run), "run.best_metric": '"system/21"', "run.best_goal": '"minimize"'}, series={
            name: {step: run / 7 + 100 / step for step in range(1, 21)} for name in names}) for run in range(1, 1001)))
        for run in range(1, 1001):
            for sample in range(5):
                self.write(f"runs/slow-{run:08x}/samples/step{sample}.txt", f"sample {sample} " + "text " * 200)
        self.open()
        self.assertLess((self.folder / "report.html").stat().st_size, 5_000_000)
        note = self.page.value("document.getElementById('of-curves').textContent")
        self.assertRegex(note, r"^Curves are thinned to at most 16 points each, .* [\d,]+ of 25,000 curves are left out to keep this page small: "
                               "times and system metrics first, then others of runs far down the table. exprun plot shows any of them.$")
        self.assertRegex(self.page.value("document.getElementById('of-samples').textContent"),
                         r"^[\d,]+ of 5,000 samples are left out to keep this page small: older ones, and those of runs far down the table\.")
        thinned = self.page.value(f"{CHART}.data.datasets[0].data.map(p => p.x)")
        self.assertEqual((len(thinned), thinned[0], thinned[-1]), (16, 1, 20))
        self.assertEqual(self.page.value("data.runs.filter(run => ['val/loss', 'train/loss', 'system/21'].every(name => run.curves[name])).length"), 1000)
        self.assertEqual(self.page.value("document.getElementById('count').textContent"), "1000 of 1000 runs")
        self.assertEqual(len(self.page.value(NAMES)), 200)
        self.click("#more")
        self.assertEqual(len(self.page.value(NAMES)), 1000)
        self.page.value("[...document.querySelectorAll('#runs th button')].find(b => b.textContent === 'seed').click()")
        self.assertEqual(self.column("seed")[:3], ["1", "2", "3"])
        self.filter("lr = 3e-4 and seed > 100")
        self.assertEqual(self.column("seed")[:2], ["107", "114"])
        self.click("#show-none")
        self.click("#runs tbody input")
        self.click("#zoom-in")
        self.assertEqual(self.page.value(f"{CHART}.data.datasets.map(d => d.label)"), ["slow-0000006b seed=107 lr=0.0003"])
        self.assertEqual([round(step) for step in self.shown_steps()], [6, 15])


class Follow(MadeRuns):
    def test_a_sweep_goes_on_between_two_of_its_trials(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "steps=1")
        ((uid,),) = self.rows("SELECT uid FROM sweep")
        # As one of its processes holds it while no trial runs.
        lock = self.write(f"runs/sweeps/{uid}.{socket.gethostname()}.{os.getpid()}.lock", b"")
        with lock.open("r+") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            followers = [self.start("report", *words, "--html", f"{name}.html", "--follow")
                         for name, words in (("all", ()), ("sweep", ("--sweep", "1")), ("named", ("tiny",)))]
            for name in ("all", "sweep", "named"):
                self.wait_for(lambda: (self.folder / f"{name}.html").exists())
            time.sleep(0.5)
            self.assertEqual([follower.poll() for follower in followers], [None] * 3)
        for follower in followers:
            self.assertEqual(self.finish(follower).code, 0)

    def wait_for(self, happened):
        end = time.monotonic() + 60
        while not happened() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(happened())


class Refused(ExprunTest):
    def test_what_does_not_go_with_a_page(self):
        self.exprun("tiny.toml", "steps=1")
        for words, said in ((["--follow"], "--follow needs --html FILE"),
                            (["--html", "a.html", "--over-seeds"], "--html shows each run with all its columns; leave out "
                                                                   "--columns, --group-by, --over-seeds and --each-run")):
            result = self.exprun("report", *words, code=2)
            self.assertEqual((result.out, result.err), ("", f"exprun: error: command line: {said}\n"))
        self.assertFalse((self.folder / "a.html").exists())

    def test_a_folder_that_is_not_there(self):
        self.exprun("tiny.toml", "steps=1")
        result = self.exprun("report", "--html", "nowhere/a.html", code=1)
        self.assertIn("nowhere/a.html", result.err)


if __name__ == "__main__":
    unittest.main()
