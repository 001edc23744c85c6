// The fields of a JSON record as they stand in its text: a tree of values costs several times what
// the tokens of its text do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exprun {

struct RecordField {
  std::string_view name;
  std::string_view value;  // of a string what is between the quotes
  bool is_string = false, has_escapes = false;

  // Of a string: without its escapes.
  void append_to(std::string& text) const;
};

// False where a whole parse must judge: for what is no object, broken or uncommon. The last of
// several fields of one name counts.
bool find_fields(std::string_view record, std::vector<RecordField>& fields);

}  // namespace exprun
