// Expressions of --where, held against a plain evaluation of the trees that they were written from.
#include "control/report/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "control/report/filter.h"

using namespace exprun;

namespace {

constexpr size_t kRuns = 40;
constexpr int kExpressions = 500;

// What the runs have: numbers and words by name, some missing, some NaN.
struct Runs {
  std::map<std::string, std::vector<std::optional<double>>> numbers;
  std::map<std::string, std::vector<std::optional<std::string>>> words;
  std::vector<bool> tagged;
};

using Random = std::mt19937_64;

size_t below(Random& random, size_t end) {
  return random() % end;
}

const std::vector<std::string> kWords = {"muon", "adamw", "5 steps", "and", "a\"b", "2024", ""};
const std::vector<double> kNumbers = {-1, 0, 1e-3, 0.5, 2, 1e6, 3e7};
const std::vector<std::string> kNumberTexts = {"-1", "0", "1e-3", "+0.5", "2.0", "1M", "30000k"};

Runs some_runs(Random& random) {
  Runs runs;
  for (size_t run = 0; run < kRuns; ++run) {
    for (const char* name : {"lr", "val/loss", "min(val/loss)", "at(val/loss, 100)"}) {
      const size_t which = below(random, 9);
      runs.numbers[name].push_back(which == 8   ? std::nullopt
                                   : which == 7 ? std::optional(std::nan(""))
                                                : std::optional(kNumbers[which]));
    }
    for (const char* name : {"optimizer.type", "every"})
      runs.words[name].push_back(below(random, 4) ? std::optional(kWords[below(random, 7)])
                                                  : std::nullopt);
    runs.tagged.push_back(below(random, 2));
  }
  return runs;
}

// An expression as text, and what it is of a run.
struct Tree {
  std::string text;
  std::function<bool(const Runs&, size_t run)> is_true;
};

std::string in_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\\\"" : std::string(1, c);
  return quoted + '"';
}

std::string blanks(Random& random) {
  return std::string(below(random, 3), ' ');
}

bool plainly(const std::string& sign, double a, double b) {
  if (sign == "=" || sign == "==") return a == b || (std::isnan(a) && std::isnan(b));
  if (sign == "!=") return !(a == b || (std::isnan(a) && std::isnan(b)));
  return sign == "<" ? a < b : sign == "<=" ? a <= b : sign == ">" ? a > b : a >= b;
}

Tree number_comparison(Random& random) {
  static const std::vector<std::string> names = {"lr", "val/loss", "min(val/loss)",
                                                 "at(val/loss, 100)"};
  static const std::vector<std::string> signs = {"=", "==", "!=", "<", "<=", ">", ">="};
  const std::string name = names[below(random, 4)], sign = signs[below(random, 7)];
  const bool other = below(random, 4) == 0;
  const std::string second = names[2 + below(random, 2)];
  const size_t number = below(random, 7);
  return {name + blanks(random) + sign + blanks(random) + (other ? second : kNumberTexts[number]),
          [=](const Runs& runs, size_t run) {
            const auto a = runs.numbers.at(name)[run];
            const auto b = other ? runs.numbers.at(second)[run] : std::optional(kNumbers[number]);
            return a && b && plainly(sign, *a, *b);
          }};
}

Tree word_comparison(Random& random) {
  const std::string name = below(random, 2) ? "optimizer.type" : "every";
  const std::string word = kWords[below(random, 7)];
  const bool equal = below(random, 2);
  return {name + blanks(random) + (equal ? "=" : "!=") + blanks(random) + in_quotes(word),
          [=](const Runs& runs, size_t run) {
            const auto value = runs.words.at(name)[run];
            return value && (*value == word) == equal;
          }};
}

Tree membership(Random& random) {
  std::vector<size_t> items(below(random, 4));
  std::string text = "lr" + std::string(1 + below(random, 2), ' ') + "in" + blanks(random) + "[";
  for (size_t& item : items) {
    item = below(random, 7);
    text += (text.back() == '[' ? "" : "," + blanks(random)) + kNumberTexts[item];
  }
  return {text + "]", [=](const Runs& runs, size_t run) {
            const auto value = runs.numbers.at("lr")[run];
            for (const size_t item : items)
              if (value && *value == kNumbers[item]) return true;
            return false;
          }};
}

Tree leaf(Random& random) {
  switch (below(random, 6)) {
    case 0:
      return word_comparison(random);
    case 1:
      return membership(random);
    case 2:
      return {"tag(\"x\")", [](const Runs& runs, size_t run) -> bool { return runs.tagged[run]; }};
    case 3:
      return {"has(every)",
              [](const Runs& runs, size_t run) { return runs.words.at("every")[run].has_value(); }};
    case 4:
      return {"optimizer.type ~ \"*m*\"", [](const Runs& runs, size_t run) {
                const auto value = runs.words.at("optimizer.type")[run];
                return value && value->find('m') != std::string::npos;
              }};
    default:
      return number_comparison(random);
  }
}

// Binding as loosely as this: 0 or, 1 and, 2 not. What binds looser stands in brackets.
Tree tree(Random& random, int depth, int binding) {
  const size_t kind = depth == 0 ? 9 : below(random, 6);
  if (kind > 2) return leaf(random);
  if (kind == 0) {
    const Tree inner = tree(random, depth - 1, 2);
    return {"not " + inner.text,
            [inner](const Runs& runs, size_t run) { return !inner.is_true(runs, run); }};
  }
  const bool is_or = kind == 1;
  const int own = is_or ? 0 : 1;
  const Tree a = tree(random, depth - 1, own), b = tree(random, depth - 1, own);
  std::string text = a.text + (is_or ? " or " : " and ") + b.text;
  if (own < binding || below(random, 5) == 0)
    text = "(" + blanks(random) + text + blanks(random) + ")";
  return {text, [=](const Runs& runs, size_t run) {
            return is_or ? a.is_true(runs, run) || b.is_true(runs, run)
                         : a.is_true(runs, run) && b.is_true(runs, run);
          }};
}

template <typename Values, typename MakeCell>
std::vector<Cell> cells_of(const Values& values, MakeCell&& cell) {
  std::vector<Cell> cells;
  for (const auto& value : values) cells.push_back(value ? cell(*value) : Cell::none());
  return cells;
}

RunFacts facts_of(const Runs& runs) {
  return {[&](const ValueName& name) -> RunValues {
            const auto numbers = runs.numbers.find(to_string(name));
            if (numbers != runs.numbers.end())
              return {cells_of(numbers->second, [](double value) { return Cell::number(value); }),
                      true};
            return {cells_of(runs.words.at(name.name),
                             [](const std::string& word) { return Cell::word(word); }),
                    false};
          },
          [&](size_t run, const std::string&) -> bool { return runs.tagged[run]; },
          {}};
}

}  // namespace

TEST_CASE("expression: what is true of a run is what a plain evaluation says") {
  Random random(20);
  size_t held = 0;
  for (int i = 0; i < kExpressions; ++i) {
    const Runs runs = some_runs(random);
    const Tree written = tree(random, 4, 0);
    const auto source = std::make_shared<SourceFile>(SourceFile{"--where", written.text});
    const auto is_true = holds(parse_expression(source), source, kRuns, facts_of(runs));
    CAPTURE(written.text);
    for (size_t run = 0; run < kRuns; ++run) {
      CHECK(is_true[run] == written.is_true(runs, run));
      held += is_true[run];
    }
  }
  // Neither all of them nor none: the comparison has something to tell apart.
  CHECK(held > kExpressions * kRuns / 10);
  CHECK(held < kExpressions * kRuns * 9 / 10);
}

TEST_CASE("expression: a value is written as a function or behind its name") {
  const auto value = [](const std::string& text) {
    const auto source = std::make_shared<SourceFile>(SourceFile{"--metric", text});
    return to_string(parse_value_name(source, {0, text.size()}));
  };
  CHECK(value("val/loss") == "val/loss");
  CHECK(value("val/loss:min") == "min(val/loss)");
  CHECK(value("val/loss:max") == "max(val/loss)");
  CHECK(value("val/loss:last") == "last(val/loss)");
  CHECK(value("val/loss:at(100)") == "at(val/loss, 100)");
  CHECK(value("at(val/loss,1k)") == "at(val/loss, 1000)");
  CHECK(value(" best val loss ") == "best val loss");
  CHECK(value("\"a:min\"") == "a:min");
  CHECK(value(":min") == ":min");
}
