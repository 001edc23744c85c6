#include "support/parity_run.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>

#include <stdexcept>

#include "support/sections.h"

namespace exprun {
namespace {

constexpr const char* kNoDataset = "[dataset]\ntype = \"token_shards\"\ntrain = \"unused.bin\"\n";

// The given samples, and no others.
class Given final : public Dataset {
 public:
  Given(at::Tensor inputs, at::Tensor targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

  Batch batch(Split, int64_t first, int64_t count) const override {
    const at::Tensor targets = targets_.narrow(0, first, count);
    return {inputs_.narrow(0, first, count), targets, 0,
            targets.ne(kIgnoredTarget).sum().item<int64_t>()};
  }
  int64_t samples_per_epoch(Split) const override { return inputs_.size(0); }
  int64_t targets_per_sample() const override { return inputs_.size(1); }

 private:
  at::Tensor inputs_, targets_;
};

Pipeline pipeline_of(const ResolvedRecipe& recipe, const ParitySettings& settings) {
  auto train_state = build_train_state(recipe, at::kCPU);
  auto dataset = std::make_unique<Given>(settings.inputs, settings.targets);
  const RunPlan plan = run_plan(recipe, settings.inputs.size(0));
  const Section schedule = recipe.section("schedule");
  return {recipe,
          "",
          single_process(),
          std::move(train_state),
          std::move(dataset),
          nullptr,
          plan,
          Registry<Schedule>::instance().find(schedule.type())(schedule, plan.timeline),
          {}};
}

}  // namespace

ParityRun::ParityRun(const ParitySettings& settings)
    : recipe_(resolve_text(settings.recipe + kNoDataset)),
      pipeline_(pipeline_of(recipe_, settings)),
      imported_(import_weights(recipe_, pipeline_.train_state, {})),
      names_(settings.system.empty() ? ForeignNames{} : names_of(settings.system)),
      step_(pipeline_, [] { return false; }) {
  if (!imported_) load_foreign(names_, Safetensors(settings.init), parameters());
}

double ParityRun::lr(const std::string& group, int64_t k) const {
  const Section groups = recipe_.section("optimizer").table("groups");
  return groups.table(group).get<double>("lr") * pipeline_.schedule->factor(k);
}

double ParityRun::loss_and_gradients(const at::Tensor& inputs, const at::Tensor& targets) {
  const auto valid = static_cast<double>(targets.ne(kIgnoredTarget).sum().item<int64_t>());
  pipeline_.optimizers().zero_gradients();
  const auto loss = model().loss_sum(inputs, targets);
  loss.div(valid).backward();
  return loss.item<double>() / valid;
}

at::Tensor ParityRun::theirs(const Safetensors& file, const Parameter& ours) const {
  const auto name = foreign_name(names_, ours.name);
  if (!name) throw std::logic_error("parity: no name for " + ours.name);
  const auto tensor = file.tensor(name->name).clone();
  return name->transposed ? tensor.t() : tensor;
}

Samples samples_at(const at::Tensor& tokens, const at::Tensor& offsets, int64_t length) {
  const auto places = offsets.reshape({-1, 1}) + at::arange(length, at::kLong);
  const auto read = [&](const at::Tensor& at) {
    return tokens.index_select(0, at.reshape({-1})).view(at.sizes());
  };
  return {read(places), read(places + 1)};
}

at::Tensor tokens_of(const std::string& raw) {
  auto* data = const_cast<char*>(raw.data());
  const auto count = static_cast<int64_t>(raw.size() / 2);
  return at::from_blob(data, {count}, at::TensorOptions().dtype(at::kShort)).to(at::kLong);
}

double largest(const at::Tensor& difference) {
  return difference.abs().max().item<double>();
}

double relative(const at::Tensor& ours, const at::Tensor& theirs) {
  return (ours - theirs).norm().item<double>() / theirs.norm().item<double>();
}

std::string toml(const std::string& key, const nlohmann::json& value) {
  return key + " = " + value.dump() + "\n";
}

}  // namespace exprun
