#include "engine/dataset.h"

#include <stdexcept>

#include "engine/device/device.h"

namespace exprun {
namespace {

at::Tensor bounds_of(const std::vector<int64_t>& lengths, at::Device device) {
  const auto count = static_cast<int64_t>(lengths.size());
  const at::Tensor bounds = host_memory({count + 1}, at::TensorOptions(device).dtype(at::kInt));
  int32_t* const bound = bounds.mutable_data_ptr<int32_t>();
  bound[0] = 0;
  for (int64_t i = 0; i < count; ++i)
    bound[i + 1] = bound[i] + static_cast<int32_t>(lengths[static_cast<size_t>(i)]);
  return bounds.to(at::TensorOptions(device), /*non_blocking=*/true);
}

}  // namespace

std::string Dataset::prompt_for(const std::string&, const std::string&) const {
  throw std::logic_error("dataset: its samples have no template for an instruction");
}

Batch Batch::on(at::Device device) const {
  const auto there = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(at::TensorOptions(device), /*non_blocking=*/true) : tensor;
  };
  return {there(inputs), there(targets),   largest_token, counted_targets,
          packs,         there(positions), there(learned)};
}

Batch Batch::part(int64_t first, int64_t count) const {
  if (!is_packed()) return {inputs.narrow(0, first, count), targets.narrow(0, first, count)};
  int64_t tokens_before = 0, learned_before = 0, tokens = 0, places = 0;
  for (int64_t i = 0; i < first + count; ++i) {
    const Pack& pack = packs.at(static_cast<size_t>(i));
    (i < first ? tokens_before : tokens) += pack.tokens;
    (i < first ? learned_before : places) += pack.learned;
  }
  return {inputs.narrow(1, tokens_before, tokens),
          targets.narrow(1, tokens_before, tokens),
          0,
          0,
          {packs.begin() + first, packs.begin() + first + count},
          positions.narrow(0, tokens_before, tokens),
          learned.narrow(0, learned_before, places).sub(tokens_before)};
}

Documents Batch::documents() const {
  if (!is_packed()) throw std::logic_error("batch: it has no documents");
  std::vector<int64_t> lengths;
  for (const Pack& pack : packs)
    lengths.insert(lengths.end(), pack.documents.begin(), pack.documents.end());
  return {lengths, positions, learned, bounds_of(lengths, positions.device())};
}

}  // namespace exprun
