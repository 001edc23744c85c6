#include "engine/buffers/ownership.h"

#include <algorithm>
#include <numeric>

namespace exprun {

namespace {

double cost(const at::Tensor& matrix) {
  const auto shorter = static_cast<double>(std::min(matrix.size(0), matrix.size(1)));
  return shorter * static_cast<double>(matrix.numel());
}

}  // namespace

std::vector<int> owners(const std::vector<Parameter>& matrices, int world_size) {
  std::vector<size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cost(matrices[a].tensor) > cost(matrices[b].tensor);
  });
  std::vector<double> load(static_cast<size_t>(world_size));
  std::vector<int> owners(matrices.size());
  for (const size_t matrix : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += cost(matrices[matrix].tensor);
    owners[matrix] = static_cast<int>(least - load.begin());
  }
  return owners;
}

}  // namespace exprun
