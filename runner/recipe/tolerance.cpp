#include "recipe/tolerance.h"

#include <set>
#include <string>
#include <tuple>

namespace exprun {
namespace {

constexpr const char* kRefusedSince = "; a new run is refused for it";

// The same thing said of the same text. Overrides have other numbers where one was taken away.
using Complaint = std::tuple<std::string, uint32_t, uint32_t, std::string>;

Complaint complaint(const Diagnostic& diagnostic, const std::string& message) {
  const SourceSpan& where = diagnostic.where;
  return {where ? where.file->text : "", where.line, where.column, message};
}

}  // namespace

Tolerance Tolerance::of_all() {
  Tolerance tolerance;
  tolerance.takes_ = [](const Diagnostic&) { return true; };
  return tolerance;
}

Tolerance Tolerance::of_what_was(const Diagnostics& warned) {
  std::set<Complaint> known;
  for (const Diagnostic& diagnostic : warned)
    known.insert(complaint(diagnostic, diagnostic.message));
  Tolerance tolerance;
  tolerance.takes_ = [known = std::move(known)](const Diagnostic& diagnostic) {
    return known.contains(complaint(diagnostic, diagnostic.message + kRefusedSince));
  };
  return tolerance;
}

void Tolerance::apply(Diagnostics& diagnostics, size_t first) const {
  if (!takes_) return;
  for (size_t i = first; i < diagnostics.size(); ++i) {
    Diagnostic& diagnostic = diagnostics[i];
    const bool refuses = diagnostic.severity == Severity::error && diagnostic.tolerable;
    if (!refuses || !takes_(diagnostic)) continue;
    diagnostic.severity = Severity::warning;
    diagnostic.message += kRefusedSince;
  }
}

}  // namespace exprun
