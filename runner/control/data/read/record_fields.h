// The fields of a JSON record as they stand in its text: a tree of values costs several times what
// the tokens of its text do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exprun {

struct JsonString {
  std::string_view bytes;  // between the quotes
  bool has_escapes = false;
};

struct RecordField {
  JsonString name, value;  // a value that is no string: all its bytes
  bool is_string = false;

  bool is_named(std::string_view wanted) const;
  std::string shown_name() const;
  // Of a string: without its escapes. Throws Error for half of a surrogate pair.
  void append_to(std::string& text) const;
};

// False for what is no JSON object. Numbers may be too large for any type, and strings hold halves
// of surrogate pairs: that counts where they are used. The last of several fields of one name
// counts.
bool find_fields(std::string_view record, std::vector<RecordField>& fields);

}  // namespace exprun
