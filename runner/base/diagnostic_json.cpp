#include "base/diagnostic_json.h"

#include <nlohmann/json.hpp>

namespace exprun {
namespace {

using nlohmann::ordered_json;
using Files = std::vector<std::shared_ptr<const SourceFile>>;

ordered_json place_json(const SourceSpan& where) {
  if (!where) return nullptr;
  return {{"file", where.file->name},
          {"line", where.line},
          {"column", where.column},
          {"length", where.length}};
}

SourceSpan place_from(const ordered_json& json, const Files& files) {
  if (json.is_null()) return {};
  const auto name = json.at("file").get<std::string>();
  SourceSpan where{nullptr, json.at("line").get<uint32_t>(), json.at("column").get<uint32_t>(),
                   json.at("length").get<uint32_t>()};
  for (const auto& file : files)
    if (file->name == name) where.file = file;
  if (!where.file) where.file = std::make_shared<SourceFile>(SourceFile{name, ""});
  return where;
}

}  // namespace

ordered_json to_json(const Diagnostics& diagnostics) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& diagnostic : diagnostics) {
    ordered_json also = ordered_json::array();
    for (const SourceSpan& where : diagnostic.also) also.push_back(place_json(where));
    list.push_back({{"severity", diagnostic.severity == Severity::error ? "error" : "warning"},
                    {"message", diagnostic.message},
                    {"help", diagnostic.help},
                    {"where", place_json(diagnostic.where)},
                    {"also", std::move(also)}});
  }
  return list;
}

Diagnostics diagnostics_from_json(const ordered_json& json, const Files& files) {
  Diagnostics diagnostics;
  for (const ordered_json& item : json) {
    Diagnostic diagnostic{place_from(item.at("where"), files), item.at("message"), item.at("help")};
    for (const ordered_json& where : item.at("also"))
      diagnostic.also.push_back(place_from(where, files));
    if (item.at("severity") == "warning") diagnostic.severity = Severity::warning;
    diagnostics.push_back(std::move(diagnostic));
  }
  return diagnostics;
}

}  // namespace exprun
