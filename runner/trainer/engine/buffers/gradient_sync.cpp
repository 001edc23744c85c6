#include "engine/buffers/gradient_sync.h"

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
struct GradientSync::Parcel {
  const Bucket& bucket;
  at::Tensor gradients;
  std::vector<at::Tensor> parameters;  // that have a part in it
  size_t first_place = 0;              // in the model: backward completes it with this parameter
  size_t missing = 0;                  // gradients that backward still owes
  std::unique_ptr<Collective> on_its_way;
};

// Keeps the autograd nodes alive whose hooks report to the parcels of their parameter.
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
                           const std::vector<const ShardedBuffer*>& buffers,
                           const std::vector<Parameter>& order)
    : group_(std::move(group)), watch_(std::make_unique<Watch>()) {
  if (!group_->exchanges()) return;
  for (const ShardedBuffer* buffer : buffers) add_parcels(*buffer, order);
  std::stable_sort(parcels_.begin(), parcels_.end(),
                   [](const auto& a, const auto& b) { return a->first_place > b->first_place; });
  for (const auto& parcel : parcels_)
    for (const at::Tensor& parameter : parcel->parameters)
      watch_->add(parameter, [this, &parcel = *parcel] { completed_one_of(parcel); });
}

GradientSync::~GradientSync() = default;

void GradientSync::add_parcels(const ShardedBuffer& buffer, const std::vector<Parameter>& order) {
  const auto place_of = places(order);
  for (const Bucket& bucket : buffer.buckets()) {
    Parcel parcel{bucket, bucket.stretch().of(buffer.flat().range().gradients), {}, order.size(), 0,
                  {}};
    for (const FlatBuffer::Slot* slot : buffer.slots_in(bucket)) {
      parcel.parameters.push_back(slot->parameter.tensor);
      parcel.first_place = std::min(parcel.first_place, place_of.at(slot->parameter.name));
    }
    parcels_.push_back(std::make_unique<Parcel>(std::move(parcel)));
  }
}

void GradientSync::begin() {
  sending_ = true;
  next_ = 0;
  for (const auto& parcel : parcels_) parcel->missing = parcel->parameters.size();
}

void GradientSync::completed_one_of(Parcel& parcel) {
  if (!sending_) return;  // a micro-batch before the last
  --parcel.missing;
  send_in_order(false);
}

// Collectives must begin in one order on all ranks: a parcel waits for those before it.
void GradientSync::send_in_order(bool all) {
  for (; next_ < parcels_.size() && (all || parcels_[next_]->missing == 0); ++next_) {
    if (next_ >= kUntilSecondHalf) parcels_[next_ - kUntilSecondHalf]->on_its_way->go_on();
    Parcel& parcel = *parcels_[next_];
    if (next_ >= kMostUnderWay && parcel.gradients.is_cpu())
      receive(*parcels_[next_ - kMostUnderWay]);
    parcel.on_its_way = parcel.bucket.reduce(*group_, parcel.gradients);
  }
}

void GradientSync::finish() {
  send_in_order(true);
  for (const auto& parcel : parcels_)
    if (parcel->on_its_way) parcel->on_its_way->go_on();
  for (const auto& parcel : parcels_) receive(*parcel);
  sending_ = false;
}

void GradientSync::receive(Parcel& parcel) {
  if (parcel.on_its_way) parcel.on_its_way->wait();
  parcel.on_its_way.reset();
}

}  // namespace exprun
