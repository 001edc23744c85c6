"""What is offered at each place of a command line, and what bash, zsh and fish make of it."""
import shutil
import unittest

from shells import Shell, has_terminals
from support import BUILD, ROOT, TINY, ExprunTest

MODELS = sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas/model").glob("*.json"))
DATA_COMMANDS = ["prepare", "fetch", "info", "verify", "head"]

# The line after `exprun`, and some of what is offered there.
OFFERED = {
    "": ["check", "sweep", "data", "tiny.toml", "folder with blanks/"],
    "-": ["--help", "--version", "--store"],
    "check ": ["tiny.toml", "folder with blanks/"],
    "check tiny.toml ": ["lr=", "optimizer.lr=", "checkpoint.every="],
    "check tiny.toml schedule.type=wsd ": ["decay_length="],
    "tiny.toml order=": ["order=sequential", "order=random_offsets"],
    "tiny.toml schedule.type=": ["schedule.type=wsd"],
    "tiny.toml bias=": ["bias=true", "bias=false"],
    "tiny.toml ~": ["~lr"],
    "tiny.toml +": ["+optimizer.lr="],
    "--store runs show ": ["tiny.toml", "{run}", "tiny", "@last", "@best"],
    "show tiny.toml --": ["--origin", "--diff", "--store"],
    "show tiny.toml --diff ": ["tiny.toml", "@last"],
    "eval {run} ": ["evaluation.val_loss.every="],
    "sample {run} ": ["tokens=", "top_k="],
    "sample {run} tokens=": ["tokens=200"],
    "sweep ": ["tiny.toml", "lr=", "ls", "show", "stop"],
    "sweep show ": ["@last"],
    "sweep seed=1,2 ": ["lr="],
    "sweep tiny.toml order=": ["order=sequential"],
    "ls --columns run,": ["run,state", "run,val_loss_best"],
    "tag {run} ": ["nice"],
    "schema ": ["optimizer", "optimizer/adamw"],
    "schema w": ["weight_decay", "optimizer.weight_decay"],
    "data prepare ": ["tiny.toml", "path=", "tokenizer="],
    "data prepare path=text.txt tokenizer=": ["tokenizer=gpt2"],
    "data prepare tiny.toml ": ["dataset.tokenizer=", "lr="],
    "data fetch ": ["tinyshakespeare", "fineweb10b"],
    "data info ": ["text.txt", "runs/"],
    "new mine --path ": ["text.txt"],
    "new mine --path=te": ["--path=text.txt"],
    "merge ": ["runs/"],
    "help ": ["check", "data"],
}
# The same, and all of it.
ALL_OFFERED = {
    "data ": DATA_COMMANDS,
    "help data ": DATA_COMMANDS,
    "help check ": [],
    "completion ": ["bash", "zsh", "fish"],
    "new mine --model ": MODELS,
    "new mine --model=": ["--model=" + model for model in MODELS],
    "new ": [],
    "ls --state ": ["running", "finished", "diverged", "failed", "interrupted", "preempted", "killed", "crashed", "pruned"],
    "resume ": ["@best", "@last", "tiny", "{run}"],
    "export ": ["@best", "@last", "tiny", "{run}"],
    "restore ": ["{removed}"],
    "export {run} --tensorboard ": ["folder with blanks/", "runs/"],
    "--store ": ["folder with blanks/", "runs/"],
    "ls --store=": ["--store=folder with blanks/", "--store=runs/"],
    "show tiny.toml --diff=@l": ["--diff=tiny.toml", "--diff=folder with blanks/", "--diff=runs/", "--diff=@best",
                                 "--diff=@last", "--diff=tiny", "--diff={run}"],
    "tiny.toml device=": ["device=auto", "device=cpu", "device=cuda"],
    "tiny.toml model.norm.type=": ["model.norm.type=layer_norm", "model.norm.type=rms_norm"],
    "tiny.toml model.position.type=": ["model.position.type=" + name for name in ("learned", "rotary", "none")],
    "tiny.toml model.type=": ["model.type=" + model for model in MODELS],
    "tiny.toml every=": [],  # it names several keys
    "check wrong.toml ": [],
    "note {run} ": [],
}
# A line, and what a TAB makes of it in every shell.
COMPLETED = {
    "exprun ch": "exprun check ",
    "exprun check t": "exprun check tiny.toml ",
    "exprun tiny.toml weight_d": "exprun tiny.toml weight_decay=",
    "exprun tiny.toml order=seq": "exprun tiny.toml order=sequential ",
    "exprun data pre": "exprun data prepare ",
    "exprun data fetch tin": "exprun data fetch tinyshakespeare ",
    "exprun new --model=g": "exprun new --model=gpt ",
    "exprun ls --state killed,cr": "exprun ls --state killed,crashed ",
    "exprun ls --store fol": "exprun ls --store folder\\ with\\ blanks/",
    "exprun check fol": "exprun check folder\\ with\\ blanks/",
    "exprun check folder\\ with\\ blanks/": "exprun check folder\\ with\\ blanks/it\\'s.toml ",
    "exprun check ~/tin": "exprun check ~/tiny.toml ",
    "exprun tiny.toml warmup=": "exprun tiny.toml warmup=0\\ steps ",
    "exprun tiny.toml betas=": "exprun tiny.toml betas=\\[0.9,0.95\\] ",
    "exprun tiny.toml 'warmup_form=(k+1)/W": "exprun tiny.toml 'warmup_form=(k+1)/W' ",
    "exprun tiny.toml warmup_form=\\(k+1\\)/W": "exprun tiny.toml warmup_form=\\(k+1\\)/W ",
    "exprun tiny.toml warmup_form=k": "exprun tiny.toml warmup_form=k/W ",
    "exprun tiny.toml '~warmup_": "exprun tiny.toml '~warmup_form' ",
    "exprun tiny.toml \\~warmup_": "exprun tiny.toml \\~warmup_form ",
    "exprun resume @l": "exprun resume @last ",
}
# The same, where the shells quote in their own ways.
COMPLETED_BY_SHELL = {
    "bash": {"exprun tiny.toml ~warmup_": "exprun tiny.toml \\~warmup_form "},
    "zsh": {"exprun tiny.toml ~warmup_": "exprun tiny.toml \\~warmup_form ",
            "exprun check ~roo": "exprun check ~root/",
            "ls ~roo": "ls ~root/"},
    "fish": {"exprun tiny.toml ~warmup_": "exprun tiny.toml ~warmup_form "},
}


class Completion(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write("folder with blanks/it's.toml", TINY)

    def candidates(self, line):
        """What a shell is offered for the line after `exprun`."""
        return self.exprun("completion", "candidates", "--", *line.split(" ")).out.split("\n")[:-1]

    def test_what_fits_each_place(self):
        self.write("wrong.toml", "[run\n")
        for command in ("sweep", "show"):  # without a store
            self.assertEqual(self.candidates(command + " t"), ["folder with blanks/", "tiny.toml", "wrong.toml"])
        self.exprun("tiny.toml", "steps=1")
        names = {"removed": self.run_folder().name}
        self.exprun("rm", "@last")
        self.exprun("tiny.toml", "steps=1", "tags=[nice]", "--new")
        names["run"] = self.run_folder().name
        self.assertNotEqual(names["run"], names["removed"])
        for line, offered in OFFERED.items():
            found = self.candidates(line.format(**names))
            self.assertEqual(len(found), len(set(found)), line)
            for word in offered:
                self.assertIn(word.format(**names), found, line)
        (self.folder / "wrong.toml").rename(self.folder / "folder with blanks/wrong.toml")
        for line, offered in ALL_OFFERED.items():
            found = self.candidates(line.format(**names))
            self.assertEqual(sorted(found), sorted(word.format(**names) for word in offered), line)
        self.assertNotIn("every=", self.candidates("check tiny.toml "))
        self.assertEqual([change for change in self.candidates(f"eval {names['run']} ") if "evaluation." not in change], [])

    def test_in_the_shells_themselves(self):
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        self.exprun("tiny.toml", "steps=1")
        for shell in ("bash", "zsh", "fish"):
            if not shutil.which(shell):
                self.skipTest(f"{shell} is not installed")
            with self.subTest(shell=shell), Shell(shell, self.folder, BUILD) as terminal:
                expected = COMPLETED | COMPLETED_BY_SHELL[shell]
                self.assertEqual({line: terminal.completed(line) for line in expected}, expected)


if __name__ == "__main__":
    unittest.main()
