"""The small twins of the shipped recipes, in an order in which they can run, with what each needs before."""
from support import ROOT

# The commands before a recipe, as recipes/README.md has them.
BEFORE = {"gpt2_finetune_alpaca": [["export", "gpt2_fineweb10b", "--huggingface", "models/small_gpt2"]]}
SMALL = sorted((ROOT / "recipes" / "small").glob("*.toml"), key=lambda path: (path.stem in BEFORE, path.stem))


def run_small(test, recipe, *overrides):
    """Runs it in the test's folder, after those before it in SMALL."""
    for command in BEFORE.get(recipe.stem, []):
        test.exprun(*command)
    test.exprun(recipe, *overrides)
    test.assertEqual(test.state(), "finished")
