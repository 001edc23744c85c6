"""tools/check_layering, fed trees that are wrong in one way each."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOUSE = {
    "runner/base/hash.h": "",
    "runner/recipe/section.h": '#include "base/hash.h"\n',
    "runner/text/tokenizer.h": "",
    "store/store.h": '#include "base/hash.h"\n',
    "runner/control/launch/launch.h": "",
    "runner/control/command/run.h": '#include "control/launch/launch.h"\n',
    "runner/trainer/engine/model.h": "#include <ATen/core/Tensor.h>\n",
    "runner/trainer/layers/linear.h": '#include "engine/model.h"\n',
    "runner/trainer/model/gpt.cpp": '#include "layers/linear.h"\n#include "text/tokenizer.h"\n#include <ATen/ops/ones.h>\n',
    "runner/trainer/optimizer/adamw.cpp": '#include "engine/model.h"\n',
    "runner/trainer/main.cpp": '#include "engine/model.h"\n#include "store/store.h"\n',
}
# The folders that each may include, besides itself.
GROUND = {"runner/base", "runner/recipe", "runner/text", "store"}
DATA, LAUNCH, SWEEP, REPORT = (f"runner/control/{part}" for part in ("data", "launch", "sweep", "report"))
COMMAND = "runner/control/command"
DIST, ENGINE, KERNELS, LAYERS, MODEL = (
    f"runner/trainer/{part}" for part in ("dist", "engine", "kernels", "layers", "model"))
ROWS = {
    "runner/base": set(),
    "runner/recipe": {"runner/base"},
    "runner/text": {"runner/base"},
    "store": {"runner/base"},
    DATA: GROUND,
    REPORT: GROUND,
    LAUNCH: GROUND | {DATA},
    SWEEP: GROUND | {DATA, LAUNCH, REPORT},
    COMMAND: GROUND | {DATA, LAUNCH, SWEEP, REPORT},
    DIST: GROUND,
    ENGINE: GROUND | {DIST},
    KERNELS: GROUND | {DIST, ENGINE},
    LAYERS: GROUND | {DIST, ENGINE, KERNELS},
    MODEL: GROUND | {DIST, ENGINE, KERNELS, LAYERS},
}


def check(files):
    """Exit code and output for our source with these files added or replaced."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**HOUSE, **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([ROOT / "tools/check_layering", folder], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr


class CheckLayering(unittest.TestCase):
    def assert_wrong(self, files, message):
        self.assertEqual(check(files), (1, message + "\n"))

    def test_a_right_tree_passes(self):
        self.assertEqual(check({}), (0, ""))

    def test_this_tree_passes(self):
        result = subprocess.run([ROOT / "tools/check_layering"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_each_folder_includes_its_row_and_no_other(self):
        headers = {f"{folder}/part.h": "" for folder in ROWS}
        for here, row in ROWS.items():
            with self.subTest(folder=here):
                others = [folder for folder in ROWS if folder != here]
                includes = "".join(f'#include "{folder}/part.h"\n' for folder in others)
                output = check({**headers, f"{here}/all.h": includes})[1]
                self.assertEqual({folder for folder in others if f" {folder}/part.h is in " not in output}, row)

    def test_what_both_share_includes_base_only(self):
        self.assert_wrong(
            {"store/rows.h": '#pragma once\n#include "recipe/section.h"\n'},
            "store/rows.h:2: recipe/section.h is in runner/recipe, which store must not include")

    def test_base_includes_nothing_else(self):
        self.assert_wrong(
            {"runner/base/log.cpp": '#include "text/tokenizer.h"\n'},
            "runner/base/log.cpp:1: text/tokenizer.h is in runner/text, which runner/base must not include")

    def test_the_wings_do_not_meet(self):
        self.assert_wrong(
            {"runner/control/launch/launch.h": '#include "trainer/engine/model.h"\n'},
            "runner/control/launch/launch.h:1: trainer/engine/model.h is in runner/trainer/engine, "
            "which runner/control/launch must not include")
        self.assert_wrong(
            {"runner/trainer/main.cpp": '#include "control/command/run.h"\n'},
            "runner/trainer/main.cpp:1: control/command/run.h is in runner/control/command, "
            "which runner/trainer must not include")

    def test_only_commands_stand_on_commands(self):
        self.assert_wrong(
            {"runner/control/report/table.cpp": '#include "control/command/run.h"\n'},
            "runner/control/report/table.cpp:1: control/command/run.h is in runner/control/command, "
            "which runner/control/report must not include")

    def test_a_component_includes_no_other_of_any_kind(self):
        for other in ("model/gpt.cpp", "optimizer/adamw.cpp"):
            self.assert_wrong(
                {"runner/trainer/model/llama.cpp": f'#include "{other}"\n'},
                f"runner/trainer/model/llama.cpp:1: {other} is a component, "
                "and components do not include each other")

    def test_the_engine_does_not_know_layers(self):
        self.assert_wrong(
            {"runner/trainer/engine/step.cpp": '#include "layers/linear.h"\n'},
            "runner/trainer/engine/step.cpp:1: layers/linear.h is in runner/trainer/layers, "
            "which runner/trainer/engine must not include")

    def test_tests_are_outside_of_the_table(self):
        self.assert_wrong(
            {"tests/support/fixtures.h": "", "runner/base/log.cpp": '#include "tests/support/fixtures.h"\n'},
            "runner/base/log.cpp:1: tests/support/fixtures.h lies outside of runner/ and store/")

    def test_libtorch_is_in_cpp_files_of_the_trainer(self):
        self.assert_wrong(
            {"runner/trainer/layers/norm.h": "#include <ATen/ops/ones.h>\n"},
            "runner/trainer/layers/norm.h:1: ATen/ops/ones.h is for .cpp files; headers take <ATen/core/Tensor.h>")
        self.assert_wrong(
            {"runner/control/command/run.cpp": "#include <torch/version.h>\n"},
            "runner/control/command/run.cpp:1: torch/version.h is LibTorch, which only runner/trainer includes")

    def test_tomlplusplus_is_in_cpp_files_of_the_recipe(self):
        message = ":1: toml++/toml.h is for .cpp files of runner/recipe"
        for path in ("runner/recipe/value.h", "runner/control/data/prepare.cpp"):
            self.assert_wrong({path: "#include <toml++/toml.h>\n"}, path + message)
        self.assertEqual(check({"runner/recipe/toml_source.cpp": "#include <toml++/toml.h>\n"})[0], 0)

    def test_spdlog_never_meets_libtorch(self):
        self.assert_wrong(
            {"runner/trainer/main.cpp": "#include <spdlog/spdlog.h>\n"},
            "runner/trainer/main.cpp:1: spdlog/spdlog.h is for .cpp files of runner/base, "
            "because LibTorch ships another fmt")

    def test_the_whole_of_libtorch_is_in_three_files(self):
        files = {f"runner/trainer/engine/{name}.cpp": "#include <torch/torch.h>\n" for name in "abc"}
        self.assertEqual(check(files), (0, ""))
        files["runner/trainer/engine/d.cpp"] = "#include <torch/torch.h>\n"
        self.assert_wrong(
            files, "runner/trainer/engine/d.cpp:1: torch/torch.h is in 3 files already (it takes 15 s to compile)")

    def test_vague_names_are_refused(self):
        for name, part in (("runner/base/string_util.h", "string_util"), ("runner/text/helpers/x.h", "helpers")):
            self.assert_wrong({name: ""}, f"{name}: '{part}' says nothing: name the concept")

    def test_a_new_folder_must_be_made_known(self):
        self.assert_wrong(
            {"runner/cloud/x.h": ""}, "runner/cloud/x.h: is in no folder that tools/check_layering knows")


if __name__ == "__main__":
    unittest.main()
