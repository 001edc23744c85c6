"""`exprun plot`: curves of real runs, in the terminal and as SVG."""
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
        text = self.exprun("plot", "@last", "--metric", "lr", "--metric", "grad_norm", "--log-y", "--smooth", "0.5",
                           "--against", "tokens").out
        self.assertIn("lr, smoothed by 0.5, logarithmic by tokens", text)
        self.assertIn("grad_norm, smoothed by 0.5, logarithmic by tokens", text)

    def test_svg_is_xml_with_the_curves(self):
        self.exprun("plot", "tiny", "--metric", "train/loss", "--svg", "curves.svg")
        root = xml.parse(self.folder / "curves.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))
        texts = [node.text for node in root.iter() if node.tag.endswith("text")]
        self.assertIn("train/loss", texts)
        for lr in "0.001", "0.01":
            self.assertTrue(any(f"lr={lr}, last " in text for text in texts), texts)

    def test_mistakes(self):
        for words, code, said in ((["@last", "--metric", "val/los"], 2, "has no series 'val/los'; did you mean 'val/loss'?"), (["@last", "--smooth", "1"], 2, "--smooth"),
                                  (["@last", "--against", "epochs"], 2, "step, tokens or time"), (["nobody"], 4, "nobody")):
            result = self.exprun("plot", *words, code=code)
            self.assertEqual(result.out, "")
            self.assertIn(said, result.err)


if __name__ == "__main__":
    unittest.main()
