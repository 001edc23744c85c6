#include "engine/gradient_sync.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <string>

namespace exprun {

namespace {

using torch::autograd::impl::grad_accumulator;

// When backward is done with a parameter is known by its place in the model.
std::map<std::string, size_t> places(const std::vector<Parameter>& order) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < order.size(); ++i) places[order[i].name] = i;
  return places;
}

}  // namespace

// A stretch of a buffer, of whole parameters.
struct GradientSync::Bucket {
  at::Tensor gradients;
  std::vector<at::Tensor> parameters;
  size_t first_place = 0;  // in the model: backward completes it with this parameter
  size_t missing = 0;      // gradients that backward still owes
  std::unique_ptr<Collective> on_its_way;
};

// Keeps the autograd nodes alive whose hooks report to the bucket of their parameter.
class GradientSync::Watch {
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

GradientSync::GradientSync(std::shared_ptr<ProcessGroup> group,
                           const std::vector<const FlatBuffer*>& buffers,
                           const std::vector<Parameter>& order, int64_t bucket_bytes)
    : group_(std::move(group)), watch_(std::make_unique<Watch>()) {
  if (group_->world_size() == 1) return;
  for (const FlatBuffer* buffer : buffers) add_buckets(*buffer, order, bucket_bytes);
  std::sort(buckets_.begin(), buckets_.end(),
            [](const auto& a, const auto& b) { return a->first_place > b->first_place; });
  for (const auto& bucket : buckets_)
    for (const at::Tensor& parameter : bucket->parameters)
      watch_->add(parameter, [this, &bucket = *bucket] { completed_one_of(bucket); });
}

GradientSync::~GradientSync() = default;

void GradientSync::add_buckets(const FlatBuffer& buffer, const std::vector<Parameter>& order,
                               int64_t bytes) {
  const auto place_of = places(order);
  const at::Tensor& all = buffer.range().gradients;
  const int64_t most = std::max<int64_t>(1, bytes / static_cast<int64_t>(all.element_size()));
  int64_t end = all.numel();
  auto bucket = std::make_unique<Bucket>();
  bucket->first_place = order.size();
  const auto& slots = buffer.slots();
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    bucket->parameters.push_back(slot->parameter.tensor);
    bucket->first_place = std::min(bucket->first_place, place_of.at(slot->parameter.name));
    if (end - slot->offset < most && std::next(slot) != slots.rend()) continue;
    bucket->gradients = all.narrow(0, slot->offset, end - slot->offset);
    end = slot->offset;
    buckets_.push_back(std::exchange(bucket, std::make_unique<Bucket>()));
    bucket->first_place = order.size();
  }
}

void GradientSync::begin() {
  sending_ = true;
  next_ = 0;
  for (const auto& bucket : buckets_) bucket->missing = bucket->parameters.size();
}

void GradientSync::completed_one_of(Bucket& bucket) {
  if (!sending_) return;  // a micro-batch before the last
  --bucket.missing;
  send_in_order(false);
}

// Collectives must begin in one order on all ranks: a bucket waits for those before it.
void GradientSync::send_in_order(bool all) {
  for (; next_ < buckets_.size() && (all || buckets_[next_]->missing == 0); ++next_)
    buckets_[next_]->on_its_way = group_->all_reduce(buckets_[next_]->gradients);
}

void GradientSync::finish() {
  send_in_order(true);
  for (const auto& bucket : buckets_) {
    bucket->on_its_way->wait();
    bucket->on_its_way.reset();
  }
  sending_ = false;
}

}  // namespace exprun
