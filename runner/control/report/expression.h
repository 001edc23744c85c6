// The language of --where: 'lr < 1e-3 and state == "finished" and tag("ablation")'.
//
//   expression  = conjunction { "or" conjunction }
//   conjunction = negation { "and" negation }
//   negation    = "not" negation | "(" expression ")" | tag(WORD) | has(NAME) | comparison
//   comparison  = value ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") (literal | function)
//               | value ["not"] "in" "[" literal { "," literal } "]"
//               | value "~" literal                    a pattern: * is any text, ? a character
//   value       = NAME | function
//   function    = last(NAME) | min(NAME) | max(NAME) | at(NAME, STEP)
//
// A name is bare (val/loss) or in quotes. On the right a bare word is a text or a number (1e-3,
// 10M), and [0.9, 0.95] is an array. Bare words with blanks between them are one: 5 steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

// A part of the text, in bytes.
struct Extent {
  size_t begin = 0, size = 0;
};

struct Literal {
  std::string text;                // without quotes; of an array as written
  std::optional<int64_t> integer;  // where the text is one: 10M is 10000000
  std::optional<double> number;    // where it is a number, an integer too
  bool is_array = false;
  std::vector<Literal> items;  // of an array
  Extent where;
};

// What stands for a value of a run.
struct ValueName {
  // plain: whatever has the name; the others ask for a series, at(NAME, STEP) at this step.
  enum class Which { plain, last, min, max, at };
  Which which = Which::plain;
  std::string name;
  int64_t step = 0;
  Extent where;  // of the whole

  friend bool operator==(const ValueName& a, const ValueName& b) {
    return a.which == b.which && a.name == b.name && a.step == b.step;
  }
};

struct Expression {
  // matches: ~; is_in: in [...]; has_tag: tag(...); has_value: has(...)
  enum class Kind { all_of, any_of, negation, comparison, matches, is_in, has_tag, has_value };
  Kind kind = Kind::comparison;
  std::vector<Expression> parts;        // of all_of, any_of, negation
  std::string sign;                     // of a comparison: = != < <= > >=
  ValueName value;                      // of all others but has_tag
  std::vector<Literal> literals;        // on the right; the tag
  std::optional<ValueName> right_name;  // a function on the right of a comparison instead
  Extent where;
};

// Throws RecipeError, which points into the text.
Expression parse_expression(const std::shared_ptr<const SourceFile>& source);

// A value alone: "val/loss", "min(val/loss)", "at(val/loss, 100)"; also NAME:min, NAME:max,
// NAME:last and NAME:at(STEP), as --metric takes it. Its place is counted from `begin`, where the
// text stands in the source. Throws RecipeError.
ValueName parse_value_name(const std::shared_ptr<const SourceFile>& source, Extent part);

// An array as TOML writes it; nothing for any other text.
std::optional<Literal> parse_array(std::string_view text);

// "min(val/loss)"
std::string to_string(const ValueName& value);

}  // namespace exprun
