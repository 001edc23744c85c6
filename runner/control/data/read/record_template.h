// The text of a JSON record: a template with its fields filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "control/data/read/record_fields.h"

namespace exprun {

// Where records are taken apart and filled in, one after another.
struct RecordRoom {
  RecordFields fields;
  std::string text;
};

class RecordTemplate {
 public:
  // `fallback` is taken where a field of `text` is missing, null or empty (Alpaca's records without
  // an input); empty: that is an error. Throws Error for a template that is none.
  RecordTemplate(const std::string& text, const std::string& fallback);

  // A part of the record, or of the room until it is used again. Throws Error for what is no JSON
  // object, or lacks a field.
  std::string_view fill(std::string_view record, RecordRoom& room) const;

 private:
  using Parts = std::vector<TemplatePart>;
  const Parts& parts_for(const RecordFields& fields) const;

  Parts parts_, fallback_;
};

}  // namespace exprun
