#include "control/report/plan.h"

#include <nlohmann/json.hpp>

#include "base/number.h"
#include "control/report/humane.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

std::string line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(13 - name.size(), ' ') + text + '\n';
}

std::string count(const ordered_json& value) {
  return with_thousands(value.get<int64_t>());
}

std::string parts(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& part : plan.at("parameters_by_part"))
    text += line("", part.at("name").get<std::string>() + ' ' + count(part.at("count")));
  return text;
}

std::string groups(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& group : plan.at("groups"))
    text +=
        line(text.empty() ? "optimizer" : "", group.at("name").get<std::string>() + ": " +
                                                  group.at("optimizer").get<std::string>() + ", " +
                                                  count(group.at("parameters")) + " parameters, " +
                                                  count(group.at("decayed")) + " of them decayed");
  return text;
}

std::string memory(const ordered_json& plan) {
  double total = 0;
  std::string text;
  for (const auto& [name, bytes] : plan.at("memory").items()) {
    total += bytes.get<double>();
    text += (text.empty() ? "" : ", ") + name + ' ' + binary_bytes(bytes.get<double>());
  }
  return line("memory", "about " + binary_bytes(total) + ": " + text);
}

}  // namespace

std::string plan_text(const ordered_json& plan) {
  const double flops = plan.at("flops_per_token").get<double>();
  const double tokens = plan.at("tokens_per_step").get<double>();
  return line("parameters", count(plan.at("parameters"))) + parts(plan) + groups(plan) +
         line("batch", count(plan.at("tokens_per_step")) + " tokens a step, in " +
                           count(plan.at("gradient_accumulation")) + " x " +
                           count(plan.at("micro_batch")) + " sequences") +
         line("length",
              count(plan.at("steps")) + " steps, " + count(plan.at("tokens")) + " tokens") +
         line("compute", in_thousands(flops) + "FLOP a token, " + in_thousands(flops * tokens) +
                             "FLOP a step") +
         memory(plan) + line("checkpoint", binary_bytes(plan.at("checkpoint_bytes").get<double>()));
}

}  // namespace exprun
