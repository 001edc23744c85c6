// "val/loss<3.2": a condition on a value of a run.
#pragma once

#include <string>

#include "control/report/table.h"

namespace exprun {

struct Condition {
  std::string text;        // as written
  std::string key;         // "val/loss"
  std::string comparison;  // = != < <= > >=
  std::string word;        // 3.2, without the quotes of a string
  Cell value;              // the same; a number for those but = and !=
};

// Throws Error that says how one is written.
Condition parse_condition(const std::string& text);

// Whether it holds of the run that has this value. What is absent satisfies none. nan equals nan.
bool holds(const Condition& condition, const Cell& value);

// A mistake in a condition: "command line: --where 'val/loss': ...".
[[noreturn]] void refuse_condition(const std::string& text, const std::string& reason);

}  // namespace exprun
