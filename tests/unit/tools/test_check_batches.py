"""tools/check_batches, fed folders whose sources have something in common."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BATCHES = "tools/cmake/batches.cmake"


def alone(code):
    return f"namespace exprun {{\nnamespace {{\n\n{code}\n\n}}  // namespace\n}}  // namespace exprun\n"


def check(files):
    """Exit code and output for a tree of these sources."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {BATCHES: (ROOT / BATCHES).read_text(), **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([ROOT / "tools/check_batches", folder], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr


class CheckBatches(unittest.TestCase):
    def assert_clash(self, one, other, what):
        self.assertEqual(
            check({"store/a.cpp": alone(one), "store/b.cpp": alone(other)}),
            (1, f"store/b.cpp:4: {what} is also at store/a.cpp:4, and both may be compiled in one batch\n"))

    def assert_none(self, one, other):
        self.assertEqual(check({"store/a.cpp": alone(one), "store/b.cpp": alone(other)}), (0, ""))

    def test_this_tree_passes(self):
        result = subprocess.run([ROOT / "tools/check_batches"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_types(self):
        self.assert_clash("struct Part { int a = 0; };", "class Part final : public Base {\n};", "Part")
        self.assert_clash("enum class Part { one, two };", "struct Part;", "Part")

    def test_values(self):
        self.assert_clash("constexpr size_t kMost = 1 << 20;", "constexpr std::chrono::seconds kMost{2};", "kMost")
        self.assert_clash('constexpr const char* kWords[] = {"a;", "b"};', "const int kWords = 2;", "kWords")

    def test_functions_of_the_same_parameters(self):
        self.assert_clash(
            "int end_of(std::string_view text, size_t at = 0) { return {}; }",
            "std::vector<int> end_of(std::string_view line,\n    size_t) {\n  return {};\n}",
            "end_of(std::string_view, size_t)")
        self.assert_clash(
            "bool operator==(const Run& a, const Run& b) { return true; }",
            "bool operator==(const Run& one, const Run& other);", "operator==(const Run&, const Run&)")

    def test_functions_of_other_parameters_are_overloads(self):
        self.assert_none("int of(const std::map<int, int>& map) { return 1; }", "int of(int value) { return 2; }")

    def test_what_a_header_of_the_folder_declares(self):
        header = "namespace exprun {\n\nstd::string in_words(double seconds);\n\n}  // namespace exprun\n"
        self.assertEqual(
            check({"store/a.h": header, "store/b.cpp": alone("std::string in_words(double) { return {}; }")}),
            (1, "store/b.cpp:4: in_words(double) is also at store/a.h:3, and both may be compiled in one batch\n"))

    def test_what_is_inside_is_its_own(self):
        self.assert_none("void one() try {\n  int count = 0;\n} catch (const Error&) {\n  struct Local {};\n}",
                         "struct Two {\n  int count = 0;\n  void run() {}\n};\nvoid two() try {\n} catch (const Error&) {\n}")
        self.assert_none('void one() { say("} struct Text {"); }  // struct Comment;',
                         "namespace fs = std::filesystem;\nusing Words = std::vector<int>;\nvoid two() {}")

    def test_what_stands_behind_is_looked_at(self):
        for first in ("void f() {}", "struct S {\n};", "constexpr int kA = 1;", "int a = [] { return 1; }();",
                      "void f() try {\n} catch (...) {\n}"):
            with self.subTest(first=first):
                self.assertIn("Part is also at", check({
                    "store/a.cpp": alone(first + "\nstruct Part {};"), "store/b.cpp": alone("struct Part {};")})[1])

    def test_a_type_of_two_headers_of_one_program(self):
        def header(code):
            return f"#pragma once\n\nnamespace exprun {{\n\n{code}\n\n}}  // namespace exprun\n"

        one, other = "runner/recipe/a.h", "runner/control/data/b.h"
        files = {one: header("struct Piece {\n  int a = 0;\n};"), other: header("class Piece : public Base {\n};")}
        self.assertEqual(check(files), (1, f"{one}: Piece is also a type of {other}, and both are in one program\n"))
        self.assertEqual(check({**files, other: header("struct Piece;")}), (0, ""))
        self.assertEqual(check({"runner/trainer/a.h": files[one], other: files[other]}), (0, ""))

    def test_sources_of_other_folders_never_meet(self):
        part = alone("struct Part {};")
        self.assertEqual(check({"store/a.cpp": part, "runner/base/b.cpp": part}), (0, ""))

    def test_components_are_compiled_alone(self):
        part = alone("struct Part {};")
        self.assertEqual(check({f"runner/trainer/model/{name}.cpp": part for name in "ab"}), (0, ""))


if __name__ == "__main__":
    unittest.main()
