// The text of a JSON record: a template with {field} in it; {{ and }} are braces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

class RecordTemplate {
 public:
  // `fallback` is taken where a field of `text` is missing, null or empty (Alpaca's records without
  // an input); empty: that is an error. Throws Error for a template that is none.
  RecordTemplate(const std::string& text, const std::string& fallback);

  // Throws Error for what is no JSON object, or lacks a field.
  std::string fill(std::string_view record) const;

 private:
  struct Part {
    std::string literal, field;  // one of them
  };
  using Parts = std::vector<Part>;
  static Parts parse(const std::string& text);
  // Nothing where a whole parse must judge.
  std::optional<std::string> filled_at_sight(std::string_view record) const;

  Parts parts_, fallback_;
};

}  // namespace exprun
