// Plans of recipes that were described before, below the user's cache folder. A cache only: what
// cannot be read is asked again, what cannot be written is dropped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

class PlanCache {
 public:
  // An entry is named by the hash of the question and of the program that answers it (its size
  // and time of change: a new build answers anew).
  PlanCache(const std::filesystem::path& program, const std::string& question);

  std::optional<std::string> find() const;
  void keep(const std::string& plan) const;

 private:
  std::filesystem::path file_;
};

}  // namespace exprun
