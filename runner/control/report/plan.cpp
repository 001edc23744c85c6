#include "control/report/plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/humane.h"
#include "base/number.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

std::string plan_line(const std::string& name, const std::string& text) {
  return "  " + name + std::string(13 - name.size(), ' ') + text + '\n';
}

std::string count(const ordered_json& value) {
  return with_thousands(value.get<int64_t>());
}

std::string parts(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& part : plan.at("parameters_by_part"))
    text += plan_line("", part.at("name").get<std::string>() + ' ' + count(part.at("count")));
  return text;
}

std::string groups(const ordered_json& plan) {
  std::string text;
  for (const ordered_json& group : plan.at("groups"))
    text += plan_line(text.empty() ? "optimizer" : "",
                      group.at("name").get<std::string>() + ": " +
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
  const auto ranks = plan.at("ranks").get<int64_t>();
  const std::string whose = ranks > 1 ? " for each of " + count(plan.at("ranks")) + " ranks" : "";
  return plan_line("memory", "about " + binary_bytes(total) + whose + ": " + text);
}

// "5 epochs", "0.32 epochs"; nothing where the data have none.
std::string epochs(const ordered_json& plan) {
  if (!plan.contains("epochs") || plan.at("epochs").is_null()) return "";
  char text[32];
  std::snprintf(text, sizeof text, ", %.3g epochs", plan.at("epochs").get<double>());
  return text;
}

std::string time(const ordered_json& plan) {
  if (!plan.contains("time")) return "";
  const ordered_json& time = plan.at("time");
  return plan_line("time", "about " + duration(time.at("seconds").get<double>()) + " at " +
                               with_thousands(time.at("tokens_per_second").get<int64_t>()) +
                               " tokens/s, the speed of " + time.at("run").get<std::string>());
}

}  // namespace

std::string plan_text(const ordered_json& plan) {
  const double flops = plan.at("flops_per_token").get<double>();
  const double tokens = plan.at("tokens_per_step").get<double>();
  return plan_line("parameters", count(plan.at("parameters"))) + parts(plan) + groups(plan) +
         plan_line("batch", count(plan.at("tokens_per_step")) + " tokens a step, in " +
                                count(plan.at("gradient_accumulation")) + " x " +
                                count(plan.at("micro_batch")) + " sequences") +
         plan_line("length", count(plan.at("steps")) + " steps, " + count(plan.at("tokens")) +
                                 " tokens" + epochs(plan)) +
         plan_line("compute", in_thousands(flops) + "FLOP a token, " +
                                  in_thousands(flops * tokens) + "FLOP a step") +
         memory(plan) +
         plan_line("checkpoint", binary_bytes(plan.at("checkpoint_bytes").get<double>())) +
         time(plan);
}

}  // namespace exprun
