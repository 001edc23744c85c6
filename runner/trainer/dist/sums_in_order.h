// Sums that the ranks of a backend add up themselves, in the order of the ranks: an element's sum
// has the same bits however tensors are cut and whoever needs it, so DDP and ZeRO-1 train alike.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "dist/process_group.h"

namespace exprun {

// What a backend begins for them, on contiguous tensors.
struct Exchanges {
  int rank = 0, world_size = 1;

  // The first `sent[0]` elements of `from` go to rank 0, and so on; `to` takes what comes likewise.
  // `purpose`: in whose place it stands, for messages.
  std::function<std::unique_ptr<Collective>(const char* purpose, at::Tensor to,
                                            std::vector<int64_t> received, at::Tensor from,
                                            std::vector<int64_t> sent)>
      all_to_all;

  // ProcessGroup::all_gather.
  std::function<std::unique_ptr<Collective>(const char* purpose, at::Tensor whole, at::Tensor part)>
      all_gather;
};

// As the collectives of ProcessGroup. Half-precision numbers are added in single precision.
std::unique_ptr<Collective> all_reduce_in_order(const Exchanges& exchanges, at::Tensor tensor);
std::unique_ptr<Collective> reduce_in_order(const Exchanges& exchanges, at::Tensor tensor, int to);
std::unique_ptr<Collective> reduce_scatter_in_order(const Exchanges& exchanges, at::Tensor part,
                                                    at::Tensor whole);

}  // namespace exprun
