"""`exprun plot`: curves of real runs, in the terminal, as SVG and as PNG."""
import struct
import unittest
import xml.etree.ElementTree as xml

from support import ExprunTest


class Plot(ExprunTest):
    def setUp(self):
        super().setUp()
        for lr in "1e-3", "1e-2":
            self.exprun("tiny.toml", f"lr={lr}", "evaluation.val_loss.every='10 steps'")

    def test_losses_of_all_runs_of_a_name(self):
        lines = self.exprun("plot", "tiny", "--width", "80", "--height", "8").out.splitlines()
        self.assertEqual(lines[0], "train/loss, val/loss by step")
        self.assertTrue(all(len(line) <= 80 for line in lines), lines)
        self.assertEqual(len(lines), 1 + 8 + 2 + 4)  # title, curves, axis, legend
        for lr in "0.001", "0.01":
            for series in "train/loss", "val/loss":
                self.assertTrue(any(f"lr={lr} {series}, last " in line for line in lines), lines)
        self.assertNotIn("\x1b", "".join(lines))

    def test_other_series_axes_and_smoothing(self):
        for metrics in ("--metric", "lr", "--metric", "grad_norm"), ("--metric", "lr, grad_norm"):
            text = self.exprun("plot", "@last", *metrics, "--log-y", "--smooth", "0.5", "--against", "tokens").out
            self.assertIn("lr by tokens (smoothed by 0.5, logarithmic)\n", text)
            self.assertIn("grad_norm by tokens (smoothed by 0.5, logarithmic)", text)

    def test_svg_is_xml_with_the_curves(self):
        self.exprun("plot", "tiny", "--metric", "train/loss", "--svg", "curves.svg")
        root = xml.parse(self.folder / "curves.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))
        texts = [node.text for node in root.iter() if node.tag.endswith("text")]
        self.assertIn("train/loss", texts)
        for lr in "0.001", "0.01":
            self.assertTrue(any(f"lr={lr}, last " in text for text in texts), texts)

    def size_of_png(self, name):
        data = (self.folder / name).read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(data[-8:-4], b"IEND")
        return struct.unpack(">2I", data[16:24])

    def test_png_has_as_many_pixels_as_asked_for(self):
        said = self.exprun("plot", "tiny", "--metric", "train/loss", "--png", "curves.png").err
        self.assertEqual(said, "exprun: wrote curves.png\n")
        self.assertEqual(self.size_of_png("curves.png"), (1600, 2 * (360 + 2 * 18)))
        self.exprun("plot", "@last", "--png", "small.png", "--svg", "small.svg", "--width", "300", "--height", "200", "--scale", "3")
        self.assertEqual(self.size_of_png("small.png"), (900, 600))
        self.assertIn('width="300" height="200"', (self.folder / "small.svg").read_text())

    def test_a_png_says_that_its_font_lacks_characters(self):
        self.exprun("tiny.toml", "steps=2", "name=größe-日本")
        self.assertEqual(self.exprun("plot", "3", "2", "--png", "wide.png").err,
                         "exprun: wrote wide.png\nexprun: warning: the PNG's font lacks some of the characters, which are boxes; "
                         "--svg FILE shows them\n")
        self.assertEqual(self.exprun("plot", "3", "2", "--svg", "wide.svg").err, "exprun: wrote wide.svg\n")
        self.assertEqual(self.exprun("plot", "3", "--png", "alone.png").err, "exprun: wrote alone.png\n")  # without a name

    def test_a_sweep_is_named_once_for_all_its_runs(self):
        self.exprun("sweep", "tiny.toml", "seed=5,6", "steps=20")
        for command in "plot", "compare":
            of_sweep = self.exprun(command, "--sweep", "@last").out
            self.assertIn("seed=5", of_sweep)
            self.assertIn("seed=6", of_sweep)
            self.assertNotIn("0.01", of_sweep)
            self.assertEqual(self.exprun(command, "--sweep", "1", "tiny", code=2).err,
                             "exprun: error: command line: give either names of runs or --sweep, not both\n")
            self.assertEqual(self.exprun(command, code=2).err,
                             f"exprun: error: {command}: name the runs, or a sweep with --sweep SWEEP\n")
        self.assertEqual(self.exprun("sweep", "show").out, self.exprun("sweep", "show", "1").out)

    def test_mistakes(self):
        for words in (["--png", "a.png", "--scale", "20"], ["--png", "a.png", "--width", "5001"], ["--svg", "a.svg", "--width", "10001"]):
            self.assertIn("plot: a file has at most 10,000 pixels in each direction", self.exprun("plot", "@last", *words, code=2).err)
        self.assertIn("plot: --scale needs --png FILE", self.exprun("plot", "@last", "--svg", "a.svg", "--scale", "2", code=2).err)
        for words, code, said in ((["@last", "--metric", "val/los"], 2, "has no series 'val/los'; did you mean 'val/loss'?"),
                                  (["@last", "--smooth", "1"], 2, "--smooth"),
                                  (["@last", "--against", "epochs"], 2, "step, tokens or time"), (["nobody"], 4, "nobody")):
            result = self.exprun("plot", *words, code=code)
            self.assertEqual(result.out, "")
            self.assertIn(said, result.err)


if __name__ == "__main__":
    unittest.main()
