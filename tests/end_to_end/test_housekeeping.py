"""What is done with runs after they have ended: looked at, labelled, removed, exported, merged, run again."""
import contextlib
import csv
import fcntl
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import unittest

from support import ExprunTest, children

F_OFD_SETLK = 37  # of Linux; the module has no name for it
EVALUATION = '\n[evaluation.val_loss]\nevery = "20 steps"\n'


class Housekeeping(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + EVALUATION)

    def names(self, *words):
        return [row["run"] for row in json.loads(self.exprun("ls", "--json", *words).out)]

    def test_what_no_value_is_recorded_of_is_not_there(self):
        self.exprun("tiny.toml", "steps=2", 'run.tags=["first"]')
        self.exprun("tiny.toml", "steps=2", "lr=1e-4")
        self.exprun("fork", "2", "run.steps=3")
        for name, found in ("tags", [1]), ("origin", [3]), ("message", []), ("command", [3, 2, 1]):
            listed = json.loads(self.exprun("ls", "--where", f"has({name})", "--columns", "id", "--json").out)
            self.assertEqual([row["id"] for row in listed], found, name)

    def test_labels_references_and_lists(self):
        self.exprun("tiny.toml", 'run.tags=["first"]')
        self.exprun("tiny.toml", "lr=1e-4", "name=slow")
        first, slow = sorted(self.names(), key=lambda name: name.startswith("slow"))
        self.assertEqual(self.exprun("tag", "@last", "worse", "b c").out, "b c\nworse\n")
        self.assertEqual(self.names("--tag", "worse"), [slow])
        self.assertEqual(self.names("--tag", "first"), [first])
        self.assertEqual(self.exprun("tag", slow, "worse", "--remove").out, "b c\n")
        self.assertEqual(self.names("--tag", "worse"), [])
        for tag, why in (("a,b", "'a,b' cannot be a tag: it has a comma"), ("a\nb", "'a\nb' cannot be a tag: it has a line break"),
                         ("", "a tag cannot be empty")):
            self.assertEqual(self.exprun("tag", slow, tag, code=2).err, f"exprun: error: tag: {why}\n")
        self.assertEqual(self.names("--sort", "val_loss_best"), [first, slow])
        self.assertEqual(self.names("--sort", "val_loss_best", "--reverse", "--limit", "1"), [slow])
        self.assertEqual(self.names("--state", "killed,crashed"), [])
        self.assertEqual(self.names("--where", "lr>1e-3", "--where", "state=finished"), [first])
        self.assertEqual(self.names("slow", "--where", "lr>1e-3"), [])
        self.assertIn(slow, self.exprun("report", "--where", "lr<1e-3", "--csv").out)
        self.assertNotIn(first, self.exprun("report", "--where", "lr<1e-3", "--csv").out)
        self.assertEqual(self.names("--where", "lr<1e-3 or not tag('worse')"), self.names())
        self.assertIn("--where:1:1: error: there is no setting, series or ls column 'lrr'\n"
                      "    lrr>1\n    ^^^ did you mean 'lr'?\n", self.exprun("ls", "--where", "lrr>1", code=2).err)
        unused = self.exprun("ls", "--where", "momentum > 0.5")
        self.assertEqual((unused.out, unused.err), ("", "exprun: no run has the setting 'momentum'\nexprun: no run matches\n"))
        self.assertEqual(self.names("--where", "started > 2026-01-01"), self.names())
        self.assertEqual(self.names("--where", "started < 2026-01-01"), [])
        self.assertIn("started is a time, but 'yesterday' is not",
                      self.exprun("ls", "--where", "started > yesterday", code=2).err)
        said = self.exprun("tiny.toml", 'run.tags=["first", "later"]').err
        self.assertIn(f"exprun: added the tag later to {first}\n", said)
        self.assertNotIn("the tag first", said)
        self.assertEqual(self.names("--tag", "later"), [first])
        said = self.exprun("resume", first, 'run.tags=["first", "last"]').err
        self.assertIn(f"exprun: added the tag last to {first}\n", said)
        self.exprun("tag", first, "last", "--remove")
        self.assertNotIn("added the tag", self.exprun("resume", first).err)
        self.exprun("note", "@best", "the one to keep\nfor now")
        self.assertEqual(self.exprun("note", "@best").out, "the one to keep\nfor now\n")
        shown = self.exprun("show", "@best").out
        self.assertIn(f"# run         {first} (id 1, uid ", shown)
        self.assertIn("# state       finished at step 40 of 40, exit code 0\n", shown)
        self.assertRegex(shown, r"\n# notes       2\d\d\d-.* UTC: the one to keep\n#             for now\n")
        self.assertIn("# libraries   libtorch 2.11.0", shown)
        self.assertIn("--sort:1:1: error: there is no setting, series or ls column 'tmie'\n"
                      "    tmie\n    ^^^^ did you mean 'time'?\n", self.exprun("ls", "--sort", "tmie", code=2).err)
        error = self.exprun("ls", "--columns", "run,val_loss_lst", code=2).err
        self.assertIn("    run,val_loss_lst\n        ^^^^^^^^^^^^ did you mean 'val_loss_last'?\n", error)
        self.assertEqual(self.names("--sort", "best val loss", "--where", "time>0", "--where", "started>0"), [first, slow])
        self.assertEqual(self.exprun("ls", "--sort", "time", "--columns", "id,exit code", "--limit", "1", "slow").out,
                         "id  exit code\n 2          0\n")
        for command in "ls", "report":
            for columns in "lr,steps", "lr,run":
                self.assertEqual("run" in self.exprun(command, "--columns", columns, "--csv").out.splitlines()[0].split(","), True)
            self.assertIn("; what is printed goes to a file with > x.csv\n", self.exprun(command, "--csv", "x.csv", code=4).err)
        for command in ("rm",), ("restore",), ("show",), ("tag", "--remove", "good"):
            self.assertNotIn("what is printed", self.exprun(command[0], "x.csv", *command[1:], code=4).err)
        self.assertTrue(self.exprun("report", "--columns", "lr").out.startswith("run "))
        explained = self.exprun("ls", "--columns", "help").out.splitlines()
        self.assertEqual(explained[:2], ["name                header         what it is",
                                         "id                  id             number in this store"])
        self.assertEqual([line.split()[0] for line in explained[1:]], list(json.loads(self.exprun(
            "ls", "--json", "--limit", "1", "--columns", ",".join(line.split()[0] for line in explained[1:])).out)[0]))
        self.assertIn("exprun: error: ls: --limit takes a whole number of at least 1, not '0'\n",
                      self.exprun("ls", "--limit", "0", code=2).err)
        self.assertIn("ls: there is no state 'dead'", self.exprun("ls", "--state", "dead", code=2).err)

    def test_a_parameter_is_found_by_its_value_whatever_the_schedule_made_of_it(self):
        for lr in ("1e-2", "2e-3"):
            self.exprun("tiny.toml", f"lr={lr}", "schedule.type=cosine", "steps=4")
        second = self.run_folder().name
        self.assertEqual(self.names("--where", "lr=2e-3"), [second])
        self.assertIn(second, self.exprun("report", "--where", "lr=2e-3", "--csv").out)
        self.assertEqual(self.names("--where", "last(lr)=2e-3"), [])
        rows = json.loads(self.exprun("ls", "--json", "--sort", "lr", "--columns", "lr,run,last(lr),train/loss:min").out)
        self.assertEqual([row["lr"] for row in rows], [0.002, 0.01])
        self.assertEqual(rows[0]["run"], second)
        self.assertLess(rows[0]["last(lr)"], 0.002)
        self.assertGreater(rows[0]["train/loss:min"], 1)

    def test_a_shown_run_is_a_recipe_of_the_same_run(self):
        self.exprun("tiny.toml")
        self.write("again.toml", self.exprun("show", "@last").out)
        self.assertIn("nothing to do: this recipe has been run", self.exprun("again.toml", "name=tiny").err)
        everything = json.loads(self.exprun("show", "@last", "--json").out)
        self.assertEqual(everything["state"], "finished")
        self.assertEqual([each["state"] for each in everything["attempts"]], ["finished"])
        self.assertGreater(everything["environment"]["memory_bytes"], 0)
        self.assertEqual(everything["libraries"]["libtorch"].split("+")[0], "2.11.0")
        self.assertIn("finished", self.exprun("show", "@last", "--attempts").out)
        self.change_store("UPDATE attempt SET message = 'no space is left on the device, and so on ' || hex(zeroblob(50))")
        for columns in 60, 80:
            table = self.at_terminal(columns, "show", "@last", "--attempts", colors=False).partition("exprun:")[0]
            self.assertLessEqual(max(map(len, table.splitlines())), columns, table)
            self.assertRegex(table, r"message.*\n.*  no space .*…")

    def test_what_a_killed_preparation_left_is_taken_by_gc(self):
        self.exprun("tiny.toml")
        left = self.folder / "runs/data/0123.partial"
        left.mkdir()
        (left / "shard").write_bytes(bytes(2048))
        with open(self.folder / "runs/data/prepare.lock", "w+b") as lock:  # as who prepares holds it
            fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            self.assertRegex(self.exprun("gc").err, "exprun: deleted nothing from disk(; the store's database is .* smaller)?\n")
            self.assertTrue(left.exists())
        self.assertIn("exprun: would delete 0123.partial from disk: unfinished data that no process is preparing\n"
                      "exprun: would delete one unfinished data folder (2.00 KiB) from disk\n", self.exprun("gc", "--dry-run").err)
        self.assertTrue(left.exists())
        self.assertIn("exprun: deleting 0123.partial from disk: unfinished data that no process is preparing\n"
                      "exprun: deleted one unfinished data folder (2.00 KiB) from disk", self.exprun("gc").err)
        self.assertFalse(left.exists())
        (self.folder / "other/data/0123.partial").mkdir(parents=True)
        self.assertIn("exprun: deleted one unfinished data folder (0 B) from disk; there are no runs\n",
                      self.exprun("--store", "other", "gc").err)
        self.assertIn("exprun: deleted nothing from disk; there are no runs\n", self.exprun("--store", "other", "gc").err)
        self.assertEqual(len([path for path in (self.folder / "runs/data").iterdir() if len(path.name) == 32]), 1)

    def test_the_code_that_ran_is_recorded(self):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q", "."], ["add", "tiny.toml"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *words], cwd=self.folder, check=True)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, check=True, capture_output=True, text=True)
        with open(self.folder / "tiny.toml", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.exprun("tiny.toml")
        self.assertEqual(self.rows("SELECT git_commit, git_dirty FROM runs"), [(commit.stdout.strip(), 1)])
        self.assertIn("+# changed", self.exprun("show", "@last", "--git-diff").out)
        subprocess.run([*git, "commit", "-qam", "second"], cwd=self.folder, check=True)
        self.exprun("tiny.toml", "steps=2")
        self.assertRegex(self.exprun("show", "@last").out, r"git \w+\s+(# +)?with\s+(# +)?untracked\s+(# +)?files")
        said = self.exprun("show", "@last", "--git-diff")
        self.assertEqual(said.out, "")
        self.assertIn("exprun: untracked files: ", said.err)
        self.assertNotIn("runs/", said.err)

    def test_removed_restored_and_taken_off_the_disk(self):
        self.exprun("tiny.toml")
        folder = self.run_folder()
        self.assertIn("removed " + folder.name, self.exprun("rm", "tiny").err)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.names("--removed"), [folder.name])
        self.assertIn(f"it was removed: `exprun restore {folder.name}`", self.exprun("show", folder.name, code=4).err)
        self.exprun("restore", folder.name)
        self.assertIn("nothing to do", self.exprun("tiny.toml").err)
        self.exprun("rm", folder.name)
        (self.folder / "runs/data/0123.partial").mkdir()
        self.assertRegex(self.exprun("gc", "--dry-run").err, "exprun: would delete one removed run and one unfinished data "
                         r"folder \([\d.]+ .?i?B\) from disk\n")
        self.assertTrue(folder.exists())
        self.assertRegex(self.exprun("gc").err, "exprun: deleted one removed run and one unfinished data folder "
                         r"\([\d.]+ .?i?B\) from disk; the store's database is ")
        self.assertFalse(folder.exists())
        self.exprun("tiny.toml", "steps=2")
        self.exprun("tiny.toml", "steps=3")
        self.exprun("rm", "--where", "name==tiny")
        refused = self.exprun("restore", "tiny", code=2).err
        self.assertRegex(refused, r"^exprun: error: restore: 'tiny' is the name of 2 runs: tiny-\w+, tiny-\w+; give folders or "
                         r"ids, or for all of them --where 'name==\"tiny\"'\n$")
        self.exprun("gc")
        for table in ("run", "attempt", "series", "metric", "blob", "checkpoint", "event"):
            self.assertEqual(self.rows(f"SELECT count(*) FROM {table}"), [(0,)], table)
        self.assertIn("exprun restore", self.exprun("help", "rm").out)
        self.exprun("tiny.toml")
        self.assertEqual(self.state(), "finished")

    def test_a_name_of_several_runs_removes_none_and_conditions_remove_several(self):
        for seed in 1, 2, 3:
            self.exprun("tiny.toml", "steps=2", f"seed={seed}")
        folders = [folder for (folder,) in self.rows("SELECT folder FROM runs ORDER BY run DESC")]
        self.assertEqual(self.exprun("rm", "tiny", code=2).err,
                         f"exprun: error: rm: 'tiny' is the name of 3 runs: {', '.join(folders)}; give folders or ids, or for "
                         "all of them --where 'name==\"tiny\"'\n")
        self.assertEqual(self.exprun("gc", "--archived", "tiny", code=2).err,
                         f"exprun: error: gc: 'tiny' is the name of 3 runs: {', '.join(folders)}; give folders or ids\n")
        self.assertEqual(self.exprun("rm", code=2).err,
                         "exprun: error: rm: say which runs: by name, --sweep SWEEP or --where EXPR\n")
        self.assertEqual(self.exprun("rm", "--where", "seed>7").err, "exprun: rm: no run matches\n")
        self.assertEqual(self.names(), folders)
        self.exprun("rm", "--where", 'name=="tiny"', "--where", "seed<3")
        self.assertEqual(self.names(), folders[:1])
        self.exprun("sweep", "tiny.toml", "steps=2", "seed=1,4")
        trials = self.names()[:2]
        self.exprun("sweep", "tiny.toml", "steps=2", "seed=4,5")
        ((shared,),) = self.rows("SELECT r.folder FROM trials JOIN runs AS r USING (run) WHERE sweep_name = 'tiny' GROUP BY run "
                                 "HAVING count(*) = 2")
        said = self.exprun("rm", "--sweep", "1").err.splitlines()
        self.assertEqual(said[0], f"exprun: kept {shared}, also in sweep 2; exprun rm {shared} removes it")
        self.assertEqual(len(said), 2)
        self.assertEqual(self.exprun("rm", "--sweep", "1").err.splitlines(), [said[0], "exprun: rm: nothing is removed"])
        self.assertEqual(self.names("--sweep", "1"), [shared])
        self.assertEqual(self.names("--sweep", "1", "--removed"), [run for run in trials if run != shared])
        self.exprun("rm", shared)
        self.exprun("rm", "--sweep", "2")
        self.assertEqual(self.names(), folders[:1])
        self.assertEqual(self.exprun("restore", "--where", "seed>7").err, "exprun: restore: no removed run matches\n")
        self.exprun("restore", "--where", "seed=2")
        self.assertEqual(self.names(), folders[:2])
        self.exprun("restore", "--sweep", "1", "--where", "seed=4")
        self.assertEqual(self.names(), [trials[0], *folders[:2]])
        self.exprun("restore", "--sweep", "1")
        self.assertEqual(self.names(), [*trials, *folders[:2]])
        self.assertEqual(self.exprun("restore", "--sweep", "1").err, "exprun: restore: no removed run matches\n")
        self.assertEqual(self.exprun("restore", "1", "--sweep", "1", code=2).err,
                         "exprun: error: command line: give either names of runs or --sweep, not both\n")

    def test_commands_that_take_the_newest_run_of_a_name_say_which_it_is(self):
        for lr in ("1e-2", "2e-2"):
            self.exprun("tiny.toml", f"lr={lr}", "steps=2")
        newest = self.run_folder().name
        for words in (("sample", "tiny", "tokens=3"), ("eval", "tiny"), ("tag", "tiny", "good"), ("note", "tiny", "good"),
                      ("export", "tiny", "--huggingface", "model"), ("data", "head", "--run", "tiny", "--step", "1"), ("watch", "tiny", "--once")):
            self.assertIn(f"exprun: {newest} is the newest of 2 runs named 'tiny'\n", self.exprun(*words).err, words)
            named = [newest if word == "tiny" else word for word in words]
            self.assertNotIn("is the newest of", self.exprun(*named[:2], *(["--huggingface", "other"] if "export" in named else named[2:])).err)

    def test_a_path_that_does_not_lead_into_the_store_is_no_run(self):
        self.exprun("tiny.toml", "steps=2")
        (self.folder / "runs/tiny").mkdir()
        inside = ("runs/tiny", "runs/data", "runs/1", "runs/@last")
        for word in ("models/tiny", str(self.folder / "tiny"), f"other/{self.run_folder().name}", "tiny/", *inside):
            self.assertIn(f"store: no run '{word}' in ", self.exprun("rm", word, code=4).err)
        said = self.exprun("tiny.toml", "seed=5", "init_from=models/tiny", code=2).err
        self.assertIn("error: 'models/tiny' does not exist\n", said)
        self.assertNotIn("the newest checkpoint of", said)
        self.assertIn("error: 'runs/1' does not exist\n", self.exprun("tiny.toml", "init_from=runs/1", code=2).err)
        self.assertIn("removed ", self.exprun("rm", f"runs/{self.run_folder().name}/").err)

    def test_a_number_that_is_a_sweep_too_is_said_to_be_watched_as_a_run(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=2")
        ((name,), _) = self.rows("SELECT folder FROM runs ORDER BY run")
        self.assertIn(f"exprun: watch: {name} is run 1; for the sweep, use --sweep 1\n", self.exprun("watch", "1", "--once").err)
        self.assertNotIn("--sweep", self.exprun("watch", "2", "--once").err)

    def test_commands_to_go_on_name_the_store(self):
        there = ("--store", "other")
        self.exprun("tiny.toml", "lr=1e30", "max_grad_norm=0", *there, code=3)
        ((name,),) = self.rows("SELECT folder FROM runs", store="other")
        said = self.exprun("tiny.toml", "lr=1e30", "max_grad_norm=0", *there, code=1).err
        self.assertIn(f"\n  exprun rerun {name} --store other lr=...   trains it again with a change\n", said)
        said = self.exprun("rm", name, *there).err
        self.assertEqual(said, f"exprun: removed {name}; exprun restore {name} --store other brings it back\n")

    def test_a_number_is_an_id_before_it_is_a_name_and_nothing_is_lost_where_it_is_both(self):
        self.exprun("tiny.toml", "steps=2", "name=2")
        self.exprun("tiny.toml", "steps=2", "name=other")
        (named, other) = (folder for (folder,) in self.rows("SELECT folder FROM runs ORDER BY run"))
        self.assertEqual(self.names("2"), [other])
        self.assertIn(f"# run         {other} ", self.exprun("show", "2").out)
        for command in ("rm", "2"), ("gc", "--archived", "2"), ("stop", "2"):
            self.assertEqual(self.exprun(*command, code=2).err, f"exprun: error: {command[0]}: '{command[-1]}' is the id of "
                             f"{other} and the name of {named}; give a folder\n")
        self.assertEqual(self.names(), [other, named])
        self.exprun("rm", named)
        self.exprun("rm", "2")
        self.assertEqual(self.names(), [])
        self.assertIn(f"'2' is the id of {other} and the name of ", self.exprun("restore", "2", code=2).err)
        for recipe in "first.toml", "1.toml":
            (self.folder / recipe).write_text((self.folder / "tiny.toml").read_text())
            self.exprun("sweep", recipe, "steps=2", "seed=1,2", "name=" + recipe.removesuffix(".toml"))
        self.assertIn("rm: '1' is the name of 2 runs: ", self.exprun("rm", "1", code=2).err)
        self.assertRegex(self.exprun("rm", "--sweep", "1", code=2).err, r"^exprun: error: rm: '1' could mean several sweeps: "
                         r"1 \(\w+\), 2 \(\w+\); give a uid\n$")

    def test_patterns_of_names_mean_all_runs_that_match(self):
        for name in ("mine-a", "mine-b", "other"):
            self.exprun("tiny.toml", "steps=2", f"name={name}")
        b, a = self.names("mine-*")
        self.assertEqual((a[:7], b[:7]), ("mine-a-", "mine-b-"))
        self.assertEqual(self.names("mine-[a]*", "other"), [a, *self.names("other")])
        self.assertEqual(self.exprun("report", "mine-?", "--columns", "run").out.split()[1:], self.exprun(
            "report", "mine-b", "mine-a", "--columns", "run").out.split()[1:])
        self.assertIn(f"# run         {a} ", self.exprun("show", "*e-a*").out)
        self.assertEqual(self.exprun("show", "mine-*", code=2).err,
                         f"exprun: error: store: 'mine-*' matches 2 runs: {b}, {a}; name one of them\n")
        for command in "rm", "ls", "show":
            self.assertEqual(self.exprun(command, "yours-*", code=4).err,
                             f"exprun: error: store: no run matches 'yours-*' in '{self.folder}/runs/exprun.db'\n")
        self.exprun("rm", "mine-*")
        self.assertEqual(self.names("--removed"), [b, a])
        for command in ("restore",), ("ls", "--removed"):
            self.assertEqual(self.exprun(*command, "yours-*", code=4).err,
                             f"exprun: error: store: no removed run matches 'yours-*' in '{self.folder}/runs/exprun.db'\n")
            self.assertEqual(self.exprun(*command, "other", code=4).err, "exprun: error: store: no removed run 'other' in "
                             f"'{self.folder}/runs/exprun.db'; `exprun ls --removed` lists those\n")
        self.assertEqual(self.names("--removed", "mine-a", f"runs/{b}"), [a, b])
        self.assertEqual(self.names("--removed", "*-a"), [a])
        self.exprun("restore", f"runs/{a}/")
        self.assertEqual(self.names("mine-*"), [a])
        self.exprun("rm", a)
        self.exprun("restore", "mine-*", "mine-a")
        self.assertEqual(len(self.names()), 3)

    def test_a_run_that_somebody_continues_is_neither_removed_nor_taken_off_the_disk(self):
        """Who continues a run holds its lock before the row says that it is running."""
        self.exprun("tiny.toml")
        folder = self.run_folder()
        with open(folder / "run.lock", "r+b") as lock:
            fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            self.assertEqual(self.exprun("rm", folder.name, code=1).err,
                             f"exprun: error: rm: another process is about to continue or remove {folder.name}\n")
            self.assertEqual(self.names(), [folder.name])
        self.exprun("rm", folder.name)
        with open(folder / "run.lock", "r+b") as lock:
            fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            said = self.exprun("gc").err
            self.assertIn(f"gc: {folder.name} is in use and stays; run exprun gc again later", said)
            self.assertIn("exprun: deleted nothing from disk", said)
            self.assertTrue(folder.exists())
        self.exprun("restore", folder.name)
        self.assertIn("nothing to do", self.exprun("tiny.toml").err)

    def test_export_has_every_value(self):
        self.exprun("tiny.toml")
        lines = list(csv.DictReader(io.StringIO(self.exprun("export", "@last").out)))
        stored = self.rows("SELECT name, step, value FROM metrics ORDER BY name, step")
        self.assertEqual([(each["name"], int(each["step"]), float(each["value"])) for each in lines], stored)
        objects = [json.loads(line) for line in self.exprun("export", "@last", "--jsonl", "--attempts").out.splitlines()]
        self.assertEqual([(each["name"], each["step"], each["value"]) for each in objects], stored)
        self.assertEqual({each["attempt"] for each in objects}, {0})
        for options in ("--metric", "lr"), ("--metric", "lr", "--metric=train/loss"):
            lines = csv.DictReader(io.StringIO(self.exprun("export", "@last", *options).out))
            self.assertEqual([(each["name"], int(each["step"]), float(each["value"])) for each in lines],
                             [row for row in stored if row[0] in " ".join(options).replace("=", " ").split()])

    def test_why_a_model_is_not_exported_is_said_once(self):
        self.exprun("tiny.toml", "steps=1")
        command = ["sh", "-c", 'ulimit -f 20; exec "$@"', "-", self.program, "export", "@last", "--huggingface", "out"]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=self.timeout)
        self.assertRegex(result.stderr, r"\Aexprun: error: file: cannot write '[^\n]*/model.safetensors': File too large[^\n]*\n\Z")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_control_c_leaves_nothing_of_an_export(self):
        self.exprun("tiny.toml", "steps=1", "activation=gelu_tanh")
        for words, target in (("--huggingface", "out"), "out"), (("--llmc", "out.bin"), "out.bin"):
            process = self.start("export", "@last", *words)
            self.wait_until(lambda: list(self.folder.glob("out*")), process)
            os.killpg(process.pid, signal.SIGINT)
            stopped = self.finish(process)
            self.assertEqual((stopped.code, stopped.err.splitlines()[-1]), (130, "exprun: error: export: stopped; nothing was written"))
            self.assertEqual(list(self.folder.glob("out*")), [])
            self.exprun("export", "@last", *words)
            self.assertTrue((self.folder / target).exists())
            for left in self.folder.glob("out*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    def test_a_signal_to_export_alone_does_not_wait_for_the_trainer(self):
        self.exprun("tiny.toml", "steps=1", "activation=gelu_tanh")
        process = self.start("export", "@last", "--huggingface", "out")
        def stop_trainer():
            for pid in children(process.pid):
                with contextlib.suppress(FileNotFoundError, PermissionError, ProcessLookupError):
                    if os.readlink(f"/proc/{pid}/exe").endswith("/exprun-trainer"):
                        os.kill(pid, signal.SIGSTOP)
                        return True
            return False
        self.wait_until(stop_trainer, process)
        process.terminate()
        stopped = self.finish(process)
        self.assertEqual((stopped.code, stopped.err.splitlines()[-1]), (143, "exprun: error: export: stopped; nothing was written"))
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_values_of_earlier_attempts_are_named_before_they_are_dropped(self):
        self.exprun("tiny.toml", "name=resumed")
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            store.execute("INSERT INTO metric_archived SELECT series, 1, step, value, time_ms FROM metric JOIN series ON "
                          "series.id = series WHERE name = 'train/loss'")
        name = self.run_folder().name
        self.assertIn(f"{name}: of earlier attempts, would drop 40 values\n", self.exprun("gc", "--archived", "--dry-run").err)
        self.assertIn(f"{name}: of earlier attempts, deleted 40 values\n", self.exprun("gc", "--archived").err)
        self.assertNotIn("would drop", self.exprun("gc", "--archived", "--dry-run").err)

    def test_gc_deletes_prepared_data_that_no_run_uses(self):
        text = self.write("mine.txt", "some text of mine, and more of it\n" * 60)
        words = ("tiny.toml", "--new", f"dataset={{type='text', path='{text}', tokenizer='byte'}}", "model.vocab_size='auto'")
        self.exprun(*words)
        def sets():
            return sorted(file.parent.name for file in (self.folder / "runs/data").glob("*/data.json"))
        (made,) = sets()
        self.assertEqual(self.exprun("gc", "--data").err, "exprun: deleted nothing from disk\n")
        self.exprun("rm", "@last")
        self.assertRegex(self.exprun("gc", "--data", "--dry-run").err,
                         r"exprun: would delete one removed run and one unused dataset \([0-9.]+ .iB\) from disk\n\Z")
        self.assertEqual(sets(), [made])
        self.assertRegex(self.exprun("gc", "--data").err, r"exprun: deleted one removed run and one unused dataset "
                         r"\([0-9.]+ .iB\) from disk(; the store's database is .* smaller)?\n\Z")
        self.assertEqual(sets(), [])
        self.exprun(*words)
        self.assertEqual(sets(), [made])
        self.assertEqual(self.exprun("gc", "--data", "@last", code=2).err,
                         "exprun: error: gc: --data is about all runs; give it without RUN\n")

    def test_gc_keeps_removed_runs_that_others_began_with(self):
        self.exprun("tiny.toml", "steps=4", "name=base")
        base = self.run_folder()
        self.exprun("tiny.toml", "steps=2", "name=tuned", "init_from=base")
        self.exprun("fork", "base", "steps=6")
        self.exprun("fork", "base", "steps=7")
        last, fork, tuned = self.names()[:3]
        self.exprun("rm", base.name, last)
        kept = (f"exprun: kept {base.name}: {tuned} began with its weights (init_from) and {fork} is a fork of it\n"
                "exprun: `exprun gc --origins` deletes it too\n")
        self.assertIn(kept, self.exprun("gc", "--dry-run", "--data").err)
        said = self.exprun("gc", "--data").err
        self.assertIn(kept, said)
        self.assertIn(f"exprun: deleting {last} from disk\n", said)
        self.assertRegex(said, r"exprun: deleted one removed run \(")
        for run in tuned, fork:
            self.assertRegex(self.exprun("rerun", run).err, r"train/loss: [\d.]+ at step \d, as before\n")
        self.exprun("rm", *self.names()[:2], fork)
        self.assertIn(f"exprun: kept {base.name}: {tuned} began with its weights (init_from)\n", self.exprun("gc").err)
        self.exprun("rm", tuned)
        self.assertIn(f"exprun: deleting {base.name} from disk\n", self.exprun("gc").err)
        self.assertFalse(base.exists())
        self.exprun("tiny.toml", "steps=4")
        self.exprun("fork", "@last", "steps=6")
        self.exprun("rm", self.names()[1])
        self.assertEqual(self.exprun("gc", "--origins", "--archived", "@last", code=2).err,
                         "exprun: error: gc: --origins is about all runs; give it without RUN\n")
        self.assertNotIn("kept", self.exprun("gc", "--origins").err)

    def test_gc_keeps_the_origins_of_origins(self):
        self.exprun("tiny.toml", "steps=2", "name=base")
        self.exprun("tiny.toml", "steps=2", "name=tuned", "init_from=base")
        for steps in 4, 6:
            self.exprun("fork", "@last", f"steps={steps}")
        last, fork, tuned, base = self.names()
        self.exprun("rm", base, tuned, fork)
        kept = (f"exprun: kept {fork}: {last} is a fork of it\n", f"exprun: kept {tuned}: {fork} is a fork of it\n",
                f"exprun: kept {base}: {last}, {fork}, {tuned} began with its weights (init_from)\n")
        for words in ("gc", "--dry-run"), ("gc",):
            said = self.exprun(*words).err
            for line in (*kept, "exprun: `exprun gc --origins` deletes them too\n", "delete", " nothing from disk"):
                self.assertIn(line, said)
        self.exprun("restore", tuned, fork)
        for run in fork, tuned:
            self.assertRegex(self.exprun("rerun", run).err, r"train/loss: [\d.]+ at step \d, as before\n")

    def test_a_sweep_whose_runs_were_removed_says_so(self):
        self.exprun("sweep", "tiny.toml", "steps=2", "seed=1,2")
        self.exprun("rm", "--sweep", "1")
        commands = (("report",), ("compare",), ("plot",), ("ls",), ("rm",))
        for command in commands:
            self.assertEqual(self.exprun(*command, "--sweep", "1", code=4).err, "exprun: error: store: the runs of sweep 1 (tiny) were "
                             "removed; `exprun restore --sweep 1` brings them back\n")
        self.assertEqual(len(self.names("--sweep", "1", "--removed")), 2)
        self.exprun("gc")
        for command in commands:
            self.assertEqual(self.exprun(*command, "--sweep", "tiny", code=4).err, "exprun: error: store: the runs of sweep 1 (tiny) "
                             "were removed and deleted from disk; its exprun sweep command trains them again\n")
        self.exprun("sweep", "tiny.toml", "steps=2", "seed=1,2")
        self.assertEqual(len(self.names("--sweep", "1")), 2)

    def test_gc_of_named_runs_takes_no_other_off_the_disk(self):
        for name in ("removed", "kept"):
            self.exprun("tiny.toml", "name=" + name)
        self.exprun("rm", "removed")
        self.assertIn("would delete nothing from disk\n", self.exprun("gc", "--archived", "kept", "--dry-run").err)
        self.assertIn("deleted nothing from disk", self.exprun("gc", "--archived", "kept").err)
        self.assertIn("gc: RUN needs --archived; to delete a run from the disk, remove it with exprun rm first",
                      self.exprun("gc", "kept", code=2).err)
        self.exprun("restore", "removed")
        self.assertEqual(len(self.names()), 2)
        self.assertIn("40", self.exprun("show", "removed").out)

    def test_tags_are_for_a_run_that_is_continued_too(self):
        self.assertIn("exprun: run.max_minutes is over: saving and stopping\n", self.exprun("tiny.toml", "max_minutes=1e-5", code=75).err)
        process = self.start("tiny.toml", "max_minutes=10", 'run.tags=["later"]')
        self.wait_until(lambda: self.rows("SELECT tags, state FROM runs") == [("later", "running")], process)
        self.assertIn("exprun: added the tag later to tiny-", self.finish(process).err)

    def test_a_run_that_does_not_go_on_gets_no_tags(self):
        self.exprun("tiny.toml", "max_minutes=1e-5", code=75)
        self.write("text.txt", "short")
        for words in ("tiny.toml",), ("resume", "@last"):
            self.assertNotIn("added", self.exprun(*words, "max_minutes=10", 'run.tags=["later"]', code=2).err)
        self.assertEqual(self.rows("SELECT tags FROM runs"), [(None,)])

    def test_merge_twice(self):
        self.exprun("tiny.toml")
        self.exprun("--store", "elsewhere", "tiny.toml", "name=other")
        self.assertEqual(self.exprun("merge", "elsewhere").err,
                         f"exprun: one run added, 0 updated, 0 unchanged\nexprun: checkpoints and logs stay in '{self.folder.resolve()}/elsewhere'; to continue or "
                         "sample a run here, copy its folder to 'runs' too\n")
        self.assertIn("0 runs added, 0 updated, 1 unchanged", self.exprun("merge", "elsewhere/exprun.db").err)
        self.assertEqual(self.exprun("merge", ".", "--store", "elsewhere", code=5).err,
                         "exprun: error: merge: there is no store '.'; did you mean './runs'?\n")
        self.assertNotIn("did you mean", self.exprun("merge", ".", code=5).err)
        self.assertEqual(len(self.names()), 2)
        self.assertEqual(self.series(1), self.series(2))

    def test_a_run_that_was_continued_in_both_stores_is_merged_once_this_one_is_given_up(self):
        self.exprun("tiny.toml", "steps=20")
        (run,) = self.names()
        shutil.copytree(self.folder / "runs", self.folder / "elsewhere")
        self.exprun("resume", run, "steps=30")
        self.exprun("--store", "elsewhere", "resume", run, "steps=40")
        said = self.exprun("merge", "elsewhere").err
        self.assertIn(f"warning: merge: left out {run}: it was continued separately in both stores\n", said)
        self.assertIn("merge: exprun merge --help says how to take in runs that were left out\n", said)
        self.assertIn("exprun rm RUN and exprun gc", " ".join(self.exprun("merge", "--help").out.split()))
        self.exprun("rm", run)
        self.exprun("gc")
        self.assertIn("one run added", self.exprun("merge", "elsewhere").err)
        self.assertEqual(self.rows("SELECT last_step FROM runs"), [(40,)])

    def test_a_merged_run_says_where_its_folder_is_needed_that_it_is_not_here(self):
        self.exprun("--store", "elsewhere", "tiny.toml", "run.steps=20")
        self.exprun("merge", "elsewhere")
        (run,) = self.names()
        merged = "if the run was merged from another store, name that one with --store"
        absent = (f"the folder of {run} is not in this store; if it was deleted, start a new run: exprun rerun {run}, or remove its record: "
                  f"exprun rm {run}; {merged}")
        for words in (("resume", run, "run.steps=30"), ("fork", run, "run.steps=30"), ("export", run, "--huggingface", "out"),
                      ("export", run, "--llmc", "out"), ("logs", run), ("sample", run), ("eval", run), ("eval", run, "--tokenizer", "x"),
                      ("data head", "--run", run, "--step", "1")):
            with self.subTest(words=words):
                self.assertEqual(self.exprun(*words[0].split(), *words[1:], code=1).err, f"exprun: error: {words[0]}: {absent}\n")
        self.assertIn(f"the folder of {run} is not in this store; if it was deleted, name other weights; "
                      + merged.replace("name that one with --store", "give the path of a checkpoint there"),
                      self.exprun("tiny.toml", "model.init_from=" + run, code=2).err)
        self.assertRegex(self.exprun("show", run).out,
                         r"\n# folder +not in this store: it was deleted, or the run was merged from another one\n")
        self.assertIsNone(json.loads(self.exprun("show", run, "--json").out)["folder"])
        self.assertIn("nothing to do: the run is finished", self.exprun("resume", run).err)
        self.change_store("UPDATE attempt SET state = 'crashed'")
        self.assertEqual(self.exprun("resume", run, code=1).err, f"exprun: error: resume: {absent}\n")
        self.assertEqual(self.exprun("tiny.toml", "run.steps=20", code=1).err,
                         f"exprun: error: launch: {absent}\n")
        self.exprun("export", run, "--tensorboard", "board")
        self.exprun("rerun", run)
        self.exprun("rm", run)

    def test_a_merged_run_that_hides_an_own_one_by_its_name_names_it(self):
        self.exprun("tiny.toml", "run.steps=10")
        self.exprun("tiny.toml", "run.steps=15")
        own = self.names()[0]
        self.exprun("--store", "elsewhere", "tiny.toml", "run.steps=20")
        self.exprun("merge", "elsewhere")
        self.assertTrue(self.exprun("sample", "tiny", code=1).err.endswith(f"; {own} has the same name, and its folder is here\n"))

    def test_checkpoints_that_a_merge_left_behind_are_missed(self):
        self.exprun("tiny.toml", "steps=20")
        (run,) = self.names()
        shutil.copytree(self.folder / "runs", self.folder / "elsewhere")
        self.exprun("--store", "elsewhere", "resume", run, "run.steps=40")
        self.assertIn("exprun: checkpoints and logs stay in ", self.exprun("merge", "elsewhere").err)
        missed = f"exprun: warning: the newest checkpoint of {run}, of step 40, is not in this store; taking "
        said = f"{missed}that of step 20\n"
        for words in ("@best",), (run, "--step", "best"):
            self.assertEqual(self.exprun("eval", *words).err.count(f"{missed}the best of those that are\n"), 1)
        uses = (("sample", run, "tokens=1"), ("eval", run), ("export", run, "--huggingface", "out"), ("fork", run, "run.steps=50", "name=forked"),
                ("tiny.toml", "name=warm", "steps=1", f"init_from={run}"), ("resume", run, "run.steps=45"))
        for words in uses:
            with self.subTest(words=words):
                self.assertEqual(self.exprun(*words).err.count(said), 1)
        self.assertNotIn("is not in this store", self.exprun("eval", run).err)

    def test_best_is_a_run_whose_folder_is_here_where_that_is_needed(self):
        self.exprun("tiny.toml", "run.steps=2")
        (own,) = self.names()
        self.exprun("--store", "elsewhere", "tiny.toml", "run.steps=20")
        self.exprun("merge", "elsewhere")
        (best,) = set(self.names()) - {own}
        said = f"exprun: @best: {best} is better, but its folder is not in this store; taking {own}\n"
        for words in (("logs", "@best"), ("export", "@best", "--huggingface", "out"), ("sample", "@best", "tokens=1"),
                      ("eval", "@best"), ("data", "head", "--run", "@best", "--step", "1")):
            with self.subTest(words=words):
                self.assertIn(said, self.exprun(*words).err)
        self.assertIn(said, self.exprun("fork", "@best", "run.steps=4").err)
        self.assertIn(said.partition(own)[0], self.exprun("tiny.toml", "name=warm", "run.steps=1", "init_from=@best").err)
        self.assertIn(best, self.exprun("show", "@best").out)

    def test_a_merged_run_does_not_hide_the_own_one_of_its_recipe(self):
        self.exprun("--store", "elsewhere", "tiny.toml")
        self.exprun("merge", "elsewhere")
        (merged,) = self.names()
        self.assertIn("  folder      not in this store: it was deleted, or the run was merged from another one\n", self.exprun("tiny.toml").out)
        self.exprun("tiny.toml", "--new")
        self.exprun("rm", merged)
        self.exprun("gc")
        (own,) = self.names()
        self.exprun("--store", "elsewhere", "tiny.toml", "--new")
        self.exprun("merge", "elsewhere")  # the newest run of the recipe is one without a folder here
        self.assertIn(f"  folder      runs/{own}\n", self.exprun("tiny.toml").out)

    def test_a_name_means_the_run_that_began_last_after_a_merge_too(self):
        for lr in ("1e-3", "1e-2"):
            self.exprun("--store", "elsewhere", "tiny.toml", f"lr={lr}")
        self.exprun("tiny.toml", "steps=20")
        (own,) = self.names()
        self.exprun("merge", "elsewhere")
        self.assertEqual(self.names()[0], own)
        self.assertEqual(self.rows("SELECT run FROM runs ORDER BY started_ms"), [(2,), (3,), (1,)])
        self.exprun("tag", "tiny", "mine")
        self.assertEqual(self.names("--tag", "mine"), [own])
        self.exprun("sample", "tiny", "tokens=2")  # its checkpoint is here

    def test_a_merged_sweep_is_as_it_was(self):
        """Its second sweep took a run of the first, which merges once left out of it."""
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "steps=20", "--store", "elsewhere")
        self.exprun("sweep", "tiny.toml", "lr=1e-3,3e-3", "steps=20", "--store", "elsewhere")
        self.exprun("tiny.toml", "steps=13")

        def best(store):
            return re.findall(r"best: .*", self.exprun("sweep", "ls", "--store", store).out + self.exprun("sweep", "show", "--store", store).out)

        for _ in range(2):
            self.exprun("merge", "elsewhere")
            self.assertEqual(self.rows("SELECT state, trials, finished FROM sweeps"), [("finished", 2, 2)] * 2)
            self.assertEqual(len(best("runs")), 1)
            self.assertEqual(best("runs"), best("elsewhere"))
            self.change_store("UPDATE trial SET run = NULL WHERE sweep = 2 AND trial = 1")

    def test_run_again(self):
        self.exprun("tiny.toml")
        said = self.exprun("rerun", "tiny").err
        self.assertEqual(len(self.names()), 2)
        self.assertIn("code, machine, libraries, data and environment are those of tiny-", said)
        self.assertRegex(said, r"train/loss: [\d.]+ at step 40, as before\n")
        self.assertRegex(self.exprun("rerun", "tiny", "lr=1e-5").err, r"different from tiny-\w+:\n(  .*\n)*  optimizer\.lr: 0\.01 -> 1e-5\n")
        said = self.exprun("rerun", "1", "steps=20").err  # the values of what both trained
        self.assertRegex(said, r"different from tiny-\w+:\n  run\.steps: 40 -> 20\n\S")  # and nothing that is derived from it
        self.assertRegex(said, r"  train/loss: [\d.]+ at step 20, as before\n")


if __name__ == "__main__":
    unittest.main()
