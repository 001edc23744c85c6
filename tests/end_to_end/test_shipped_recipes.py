"""Every shipped recipe passes `exprun check`; every small one runs, learns and ends finished."""
import json
import unittest

from small_recipes import SMALL, run_small
from support import ROOT, ExprunTest

# The series and the value below which a small recipe ends, in nats a token. Bytes begin at ln(256) = 5.55, characters
# at about 4.6, the MLP's digits at ln(10) = 2.30; random digits and the one batch can only be learned by heart.
LEARNED = {
    "gpt2_alpaca": ("val/loss", 3.6),
    "gpt2_fineweb10b": ("val/loss", 3.4),
    "gpt2_fineweb_edu10b": ("val/loss", 3.4),
    "gpt2_finetune_alpaca": ("val/loss", 2.0),
    "modded_nanogpt_fineweb10b": ("val/loss", 2.8),
    "shakespeare_char": ("val/loss", 3.1),
    "shakespeare_char_cpu": ("val/loss", 3.1),
    "simple_mlp": ("train/loss", 2.1),
    "tinyshakespeare_overfit": ("train/loss", 0.1),
}
RECIPES = sorted(path for path in (ROOT / "recipes").glob("*.toml") if path.stem != "quickstart")


class ShippedRecipes(ExprunTest):
    def setUp(self):
        super().setUp()
        (self.folder / "recipes").symlink_to(ROOT / "recipes")

    def test_every_recipe_passes_check(self):
        for recipe in [*RECIPES, *SMALL]:
            with self.subTest(recipe=recipe.stem):
                self.assertIn("no mistakes", self.exprun("check", recipe).out)

    def test_what_is_shown_of_every_recipe_is_the_same_recipe(self):
        for recipe in [*RECIPES, *SMALL]:
            with self.subTest(recipe=recipe.stem):
                (self.folder / "shown.toml").write_text(self.exprun("show", recipe).out)
                self.assertIn("no mistakes", self.exprun("check", "shown.toml").out)
                hashes = {json.loads(self.exprun("show", shown, "--json").out)["hash"] for shown in (recipe, "shown.toml")}
                self.assertEqual(len(hashes), 1)

    def test_every_recipe_has_a_small_twin(self):
        large = [path.stem for path in RECIPES if path.stem != "lr_sweep"]  # on the quickstart's data, which is small
        self.assertEqual(large, sorted(path.stem for path in SMALL))

    def test_every_small_recipe_runs_and_learns(self):
        self.assertEqual({path.stem for path in SMALL}, LEARNED.keys())
        for recipe in SMALL:
            with self.subTest(recipe=recipe.stem):
                run_small(self, recipe, "run.deterministic=true", "run.threads=1")
                series, bound = LEARNED[recipe.stem]
                ((loss,),) = self.rows("SELECT value FROM metrics WHERE name = ? AND "
                                       "run = (SELECT max(run) FROM runs) ORDER BY step DESC LIMIT 1", series)
                self.assertLess(loss, bound)


if __name__ == "__main__":
    unittest.main()
