// Evaluations of texts that the recipe names, perplexity and completion, against plain sums.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "base/diagnostic.h"
#include "engine/evaluation.h"
#include "support/delegating_model.h"
#include "support/rank_threads.h"
#include "support/sections.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

constexpr int64_t kContext = 16;

class NoData final : public Dataset {
 public:
  Batch batch(Split, int64_t, int64_t) const override { return {}; }
  int64_t samples_per_epoch(Split) const override { return 0; }
  int64_t targets_per_sample() const override { return 0; }
};

struct Bytes {
  Bytes()
      : recipe(recipe_with("model", "gpt",
                           "hidden_size = 32\ncontext_length = 16\nvocab_size = 256\n"
                           "initialization = { std = 0.3 }\n")),
        parameters(at::kCPU),
        model(Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters)) {
    parameters.initialize(1);
    model->set_training(false);
  }

  ResolvedRecipe recipe;
  ParameterList parameters;
  std::unique_ptr<Model> model;
};

// Counts the sequences that it is given.
class CountedModel final : public DelegatingModel {
 public:
  using DelegatingModel::DelegatingModel;

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    sequences += inputs.size(0);
    return DelegatingModel::loss_sum(inputs, targets);
  }
  at::Tensor logits(const at::Tensor& inputs) override {
    sequences += inputs.size(0);
    return DelegatingModel::logits(inputs);
  }

  int64_t sequences = 0;
};

using Metrics = std::map<std::string, double>;

struct Measured {
  Metrics metrics;
  int64_t sequences = 0;  // that this rank's model was given
};

// Of [evaluation.NAME], by one rank of those.
Measured measured_by(const std::shared_ptr<ProcessGroup>& group, const std::string& type,
                     const std::string& keys) {
  const at::NoGradGuard no_grad;
  const Bytes bytes;
  CountedModel model(*bytes.model);
  const ResolvedRecipe recipe = recipe_with("evaluation", type, keys);
  const auto evaluation =
      Registry<Evaluation>::instance().find(type)(recipe.section("evaluation").table(type));
  const auto tokenizer = make_byte_tokenizer();
  const NoData none;
  evaluation->check(none, tokenizer.get());
  EvaluationContext context{model, none, tokenizer.get(),      0,      1,
                            3,     16,   [] { return false; }, nullptr};
  context.group = group;
  const auto result = evaluation->evaluate(context);
  return {{result->metrics.begin(), result->metrics.end()}, model.sequences};
}

Metrics measured(const std::string& type, const std::string& keys) {
  return measured_by(single_process(), type, keys).metrics;
}

std::string path_key(const std::filesystem::path& file) {
  return "path = \"" + file.string() + "\"\n";
}

std::string random_text(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) text += static_cast<char>('a' + random() % 26);
  return text;
}

// Nats of every byte after the first, each with as many bytes before it as `seen` says.
double plain_loss(const std::string& text, const std::function<int64_t(int64_t)>& seen) {
  const at::NoGradGuard no_grad;
  const Bytes bytes;
  double sum = 0;
  for (int64_t i = 1; i < static_cast<int64_t>(text.size()); ++i) {
    std::vector<int64_t> before;
    for (int64_t j = i - seen(i); j < i; ++j)
      before.push_back(static_cast<unsigned char>(text[static_cast<size_t>(j)]));
    const auto logits = bytes.model->logits(at::tensor(before, at::kLong).unsqueeze(0));
    sum -= logits[0][-1]
               .log_softmax(-1)[static_cast<unsigned char>(text[static_cast<size_t>(i)])]
               .item<double>();
  }
  return sum;
}

std::string mistake(const std::string& type, const std::string& keys) {
  try {
    measured(type, keys);
  } catch (const RecipeError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

}  // namespace

TEST_CASE("perplexity: every byte is predicted once, with the context that the stride leaves it") {
  const TemporaryFolder folder;
  const std::string text = random_text(101, 1);
  const auto path = path_key(folder.write("text.txt", text));
  const auto by_windows = [](int64_t i) {  // the last window predicts 4, after 12 others
    return i <= 96 ? (i - 1) % kContext + 1 : i - 84;
  };
  const auto sliding = [](int64_t i) {  // the first window predicts 16, each other one 4
    return i <= kContext ? i : 13 + (i - 1) % 4;
  };
  const auto all = [](int64_t i) { return std::min(i, kContext); };
  const auto check = [&](const std::string& keys, const std::function<int64_t(int64_t)>& seen) {
    const double sum = plain_loss(text, seen);
    const Metrics metrics = measured("perplexity", path + keys);
    REQUIRE(metrics.size() == 3);
    CHECK(metrics.at("perplexity/loss") == doctest::Approx(sum / 100).epsilon(1e-6));
    CHECK(metrics.at("perplexity/perplexity") ==
          doctest::Approx(std::exp(sum / 100)).epsilon(1e-5));
    CHECK(metrics.at("perplexity/bits_per_byte") ==
          doctest::Approx(sum / 100 / std::numbers::ln2).epsilon(1e-6));
  };
  check("", by_windows);
  check("stride = 4\n", sliding);
  check("stride = 1\n", all);
  check("stride = 99\n", by_windows);
}

TEST_CASE("perplexity: files without text say so") {
  const TemporaryFolder folder;
  const auto empty = folder.write("empty.txt", "a");
  CHECK(mistake("perplexity", path_key(empty)) ==
        "'" + empty.string() + "' has no text to evaluate");
  CHECK(mistake("perplexity", path_key(folder.path() / "gone.txt")) ==
        "there is no file '" + (folder.path() / "gone.txt").string() + "'");
}

TEST_CASE("completion: files of other projects are the examples that they stand for") {
  const TemporaryFolder folder;
  std::map<std::string, std::string> files;  // by kind
  std::string plain, questions, last_words, labels;
  for (unsigned i = 0; i < 37; ++i) {
    const std::string asked = random_text(4, i), a = random_text(3, 100 + i),
                      b = random_text(5, 200 + i), label = i % 2 ? "1" : "0";
    const std::string letter = i % 2 ? "B" : "A";
    const auto endings =
        "\"endings\": [\" " + a + "\", \" " + b + "\"], \"label\": " + label + "}\n";
    plain += "{\"context\": \"" + asked + "\", " + endings;
    questions += "{\"context\": \"Question: " + asked + "\\nAnswer:\", " + endings;
    files["hellaswag"] += "{\"ctx\": \"" + asked + "\", \"endings\": [\"" + a + "\", \"" + b +
                          "\"], \"label\": \"" + label + "\"}\n";
    files["arc"] += "{\"question\": {\"stem\": \"" + asked + "\", \"choices\": [{\"text\": \"" + a +
                    "\", \"label\": \"A\"}, {\"text\": \"" + b +
                    "\", \"label\": \"B\"}]}, \"answerKey\": \"" + letter + "\"}\n";
    files["arc_hf"] += "{\"question\": \"" + asked + "\", \"choices\": {\"text\": [\"" + a +
                       "\", \"" + b + "\"], \"label\": [\"A\", \"B\"]}, \"answerKey\": \"" +
                       letter + "\"}\n";
    const auto goal =
        "{\"goal\": \"" + asked + "\", \"sol1\": \"" + a + "\", \"sol2\": \"" + b + "\"";
    files["piqa"] += goal + ", \"label\": " + label + "}\n";
    files["piqa_beside"] += goal + "}\n";
    labels += label + "\n";
    last_words += "{\"context\": \"" + asked + "\", \"endings\": [\" " + a + "\"], \"label\": 0}\n";
    files["lambada"] += "{\"text\": \"" + asked + " " + a + "\"}\n";
  }
  folder.write("piqa_beside-labels.lst", labels);
  const auto score = [&](const std::string& name, const std::string& text) {
    return measured("completion", path_key(folder.write(name + ".jsonl", text)));
  };
  const Metrics of_plain = score("plain", plain), of_questions = score("questions", questions);
  const Metrics of_last_words = score("last_words", last_words);
  CHECK(of_plain.at("completion/acc") != of_plain.at("completion/acc_norm"));
  for (const auto& [kind, text] : files) {
    INFO(kind);
    const Metrics& expected = kind == "hellaswag" ? of_plain
                              : kind == "lambada" ? of_last_words
                                                  : of_questions;
    CHECK(score(kind, text) == expected);
  }
}

TEST_CASE("completion: an only ending is right if the model would write it") {
  const at::NoGradGuard no_grad;
  const Bytes bytes;
  std::vector<int64_t> text = {'a', 'b'};
  for (int i = 0; i < 3; ++i)
    text.push_back(bytes.model->logits(at::tensor(text, at::kLong).unsqueeze(0))[0][-1]
                       .argmax()
                       .item<int64_t>());
  std::string escaped;
  for (size_t i = 2; i < text.size(); ++i) {
    REQUIRE(text[i] < 0x80);
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(text[i]));
    escaped += code;
  }
  const TemporaryFolder folder;
  const auto lines = "{\"context\": \"ab\", \"endings\": [\"" + escaped +
                     "\"], \"label\": 0}\n{\"context\": \"ab\", \"endings\": [\"" + escaped +
                     "x\"], \"label\": 0}\n";
  const Metrics metrics = measured("completion", path_key(folder.write("own.jsonl", lines)));
  CHECK(metrics.at("completion/acc") == 0.5);
  CHECK(metrics.at("completion/acc_norm") == 0.5);
}

TEST_CASE("completion: mistakes of a file say where") {
  const TemporaryFolder folder;
  const auto of = [&](const std::string& line) {
    const std::string all = mistake("completion", path_key(folder.write("own.jsonl", line)));
    return all.substr(all.rfind('\'') + 1);
  };
  CHECK(of("{\"context\": \"a\"}\n") == " is not a completion example");
  CHECK(of("{\"text\": \"word\"}\n") == " has a text of one word");
  CHECK(of("{\"goal\": \"a\", \"sol1\": \"b\", \"sol2\": \"c\", \"label\": \"x\"}\n") ==
        " has a label that is not a number");
  CHECK(of("{\"question\": \"a\", \"choices\": {\"text\": [\"b\"], \"label\": [\"A\"]}, "
           "\"answerKey\": \"B\"}\n") == " has a label that refers to none of its endings");
}

TEST_CASE("perplexity and completion: ranks divide the work and find the same") {
  const TemporaryFolder folder;
  const auto text = path_key(folder.write("text.txt", random_text(333, 1)));
  std::string lines;
  for (unsigned i = 0; i < 31; ++i)
    lines += "{\"context\": \"" + random_text(4, i) + "\", \"endings\": [\"" +
             random_text(3, 99 + i) + "\", \"" + random_text(2, 199 + i) + "\"], \"label\": 1}\n";
  const auto examples = path_key(folder.write("own.jsonl", lines));
  for (const auto& [type, keys] :
       std::map<std::string, std::string>{{"perplexity", text}, {"completion", examples}}) {
    INFO(type);
    const Measured alone = measured_by(single_process(), type, keys);
    const std::string kind = type, path = keys;
    int64_t sequences = 0;
    for (const Measured& found :
         from_ranks<Measured>(3, [&](const std::shared_ptr<ProcessGroup>& group) {
           return measured_by(group, kind, path);
         })) {
      for (const auto& [series, value] : alone.metrics)
        CHECK(found.metrics.at(series) == doctest::Approx(value).epsilon(1e-6));
      CHECK(found.sequences <= alone.sequences / 3 + 3);  // a batch has 3
      sequences += found.sequences;
    }
    CHECK(sequences == alone.sequences);
  }
}
