// The language of --where on any bytes: it refuses with a place, or what it has read is the same
// when a value of it is written and read back. Each expression is also asked of a run whose every
// value is the input itself.
#include <cstdint>
#include <cstdlib>

#include "control/report/filter.h"

using namespace exprun;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::shared_ptr<const SourceFile> source_of(std::string_view text) {
  return std::make_shared<SourceFile>(SourceFile{"fuzz", std::string(text)});
}

void require_place(const RecipeError& error, std::string_view input) {
  require(error.diagnostics().size() == 1);
  const SourceSpan& where = error.diagnostics().front().where;
  require(where.file && where.line > 0 && where.column > 0 && where.column <= input.size() + 1);
}

void evaluate(std::string_view input) try {
  const auto source = source_of(input);
  const std::vector<Cell> cells = {value_cell(std::string(input)), Cell::number(2), Cell::none()};
  const RunFacts facts{[&](const ValueName&) {
                         return RunValues{cells, false};
                       },
                       [](size_t run, const std::string& tag) { return tag.size() > run; },
                       {"finished"}};
  const auto held = holds(parse_expression(source), source, cells.size(), facts);
  require(held.size() == cells.size());
} catch (const RecipeError& error) {
  require_place(error, input);
}

// A name without what only quotes can hold.
bool is_bare(const std::string& name) {
  return name.find_first_of(" \t\r\n()[],=!<>&|~\"'\\;`{}") == name.npos;
}

void read_value(std::string_view input) try {
  const ValueName value = parse_value_name(source_of(input), {0, input.size()});
  if (value.which == ValueName::Which::plain || !is_bare(value.name)) return;
  const std::string written = to_string(value);
  require(parse_value_name(source_of(written), {0, written.size()}) == value);
} catch (const RecipeError& error) {
  require_place(error, input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  evaluate(input);
  read_value(input);
  parse_array(input);
  return 0;
}
