#include "engine/data_parallel/gradient_reducer.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace exprun {
namespace {

using torch::autograd::impl::grad_accumulator;

// Between CPUs collectives need memory of their own; who has so many under way waits for the
// network anyway. On a GPU they need none, and to wait would make backward's stream wait for the
// network.
constexpr size_t kMostUnderWay = 4;

// After so many others a collective goes on to its second half, while the next ones are in their
// first.
constexpr size_t kUntilSecondHalf = 2;

}  // namespace

// A bucket with what backward still owes it.
struct GradientReducer::PendingBucket {
  const Bucket& bucket;
  at::Tensor gradients;
  std::vector<at::Tensor> parameters;  // that have a part in it
  size_t first_place = 0;              // in the model: backward completes it with this parameter
  size_t missing = 0;                  // gradients that backward still owes
  std::unique_ptr<Collective> on_its_way;
};

// Keeps the autograd nodes alive whose hooks report to the buckets of their parameter.
class GradientReducer::Watch {
 public:
  template <class Function>
  void add(const at::Tensor& parameter, Function function) {
    using torch::autograd::variable_list;
    auto node = grad_accumulator(parameter);
    node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [function](const variable_list& outputs, const variable_list&) {
          function();
          return outputs;
        }));
    nodes_.push_back(std::move(node));
  }

 private:
  std::vector<decltype(grad_accumulator(at::Tensor()))> nodes_;
};

GradientReducer::GradientReducer(std::shared_ptr<ProcessGroup> group,
                                 const std::vector<const ShardedBuffer*>& buffers,
                                 const std::vector<Parameter>& order)
    : group_(std::move(group)), watch_(std::make_unique<Watch>()) {
  if (!group_->exchanges()) return;
  for (const ShardedBuffer* buffer : buffers) add_pending(*buffer, order);
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const auto& a, const auto& b) { return a->first_place > b->first_place; });
  for (const auto& pending : pending_)
    for (const at::Tensor& parameter : pending->parameters)
      watch_->add(parameter, [this, &pending = *pending] { completed_one_of(pending); });
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::add_pending(const ShardedBuffer& buffer,
                                  const std::vector<Parameter>& order) {
  const auto place_of = places(order);
  for (const Bucket& bucket : buffer.buckets()) {
    PendingBucket pending{
        bucket, bucket.slice().of(buffer.flat().range().gradients), {}, order.size(), 0, {}};
    for (const FlatBuffer::ParameterSlice* parameter_slice : buffer.parameter_slices_in(bucket)) {
      pending.parameters.push_back(parameter_slice->parameter.tensor);
      pending.first_place =
          std::min(pending.first_place, place_of.at(parameter_slice->parameter.name));
    }
    pending_.push_back(std::make_unique<PendingBucket>(std::move(pending)));
  }
}

void GradientReducer::begin() {
  sending_ = true;
  next_ = 0;
  for (const auto& pending : pending_) pending->missing = pending->parameters.size();
}

void GradientReducer::completed_one_of(PendingBucket& pending) {
  if (!sending_) return;  // a micro-batch before the last
  --pending.missing;
  send_in_order(false);
}

// Collectives must begin in one order on all ranks: a bucket waits for those before it.
void GradientReducer::send_in_order(bool all) {
  for (; next_ < pending_.size() && (all || pending_[next_]->missing == 0); ++next_) {
    if (next_ >= kUntilSecondHalf) pending_[next_ - kUntilSecondHalf]->on_its_way->go_on();
    PendingBucket& pending = *pending_[next_];
    if (next_ >= kMostUnderWay && pending.gradients.is_cpu())
      receive(*pending_[next_ - kMostUnderWay]);
    pending.on_its_way = pending.bucket.reduce(*group_, pending.gradients);
  }
}

void GradientReducer::finish() {
  send_in_order(true);
  for (const auto& pending : pending_)
    if (pending->on_its_way) pending->on_its_way->go_on();
  for (const auto& pending : pending_) receive(*pending);
  sending_ = false;
}

void GradientReducer::receive(PendingBucket& pending) {
  if (pending.on_its_way) pending.on_its_way->wait();
  pending.on_its_way.reset();
}

}  // namespace exprun
