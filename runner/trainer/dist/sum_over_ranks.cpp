#include <ATen/ops/empty.h>

#include <algorithm>

#include "dist/process_group.h"

namespace exprun {

std::vector<double> sum_over_ranks(ProcessGroup& group, const std::vector<double>& values) {
  const at::Tensor sums = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  auto* data = sums.mutable_data_ptr<double>();
  std::copy(values.begin(), values.end(), data);
  group.sum_numbers(sums)->wait();
  return {data, data + values.size()};
}

}  // namespace exprun
