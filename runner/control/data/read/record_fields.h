// The fields of a JSON record at sight: a tree of values costs several times what the tokens of its
// text do.
#pragma once

#include <string_view>
#include <vector>

#include "base/uninitialized_buffer.h"

namespace exprun {

struct RecordField {
  std::string_view name, value;  // strings without their escapes; of other values all bytes
  bool is_string = false;
  // Of a string's value: the first escape that is half of a surrogate pair, for which U+FFFD
  // stands.
  std::string_view half;
};

// Finds them in one record after another; its memory is used again.
class RecordFields {
 public:
  // False for what is no JSON object. Numbers may be too large for any type. What is found lies in
  // the record and in this, until the next call.
  bool find(std::string_view record);

  const std::vector<RecordField>& all() const { return fields_; }
  // The last of several of one name counts; null where there is none.
  const RecordField* named(std::string_view name) const;

 private:
  std::vector<RecordField> fields_;
  UninitializedBuffer unescaped_;  // strings that had escapes
};

}  // namespace exprun
