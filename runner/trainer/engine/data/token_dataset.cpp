#include "engine/data/token_dataset.h"

#include <string>
#include <vector>

#include "engine/data/look_ahead.h"
#include "engine/data/token_reader.h"

namespace exprun {
namespace {

class TokenDataset final : public Dataset {
 public:
  TokenDataset(const DatasetContext& context, SampleOrder order, Blocks blocks)
      : train_(context.data.train, !context.device.is_cpu()),
        validation_(context.data.validation, !context.device.is_cpu()),
        length_(context.sequence_length),
        seed_(context.seed),
        device_(context.device),
        order_(order),
        blocks_(blocks),
        next_train_(
            [this](int64_t first, int64_t count) { return read(Split::train, first, count); },
            context.stride, context.device) {
    if (order == SampleOrder::sequential) train_.expect_sequential();
    validation_.expect_sequential();
  }

  // Training goes on in even steps, evaluations jump.
  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    return split == Split::train ? next_train_.take(first_sample, count)
                                 : read(split, first_sample, count).on(device_);
  }

  int64_t samples_per_epoch(Split split) const override {
    return exprun::samples_per_epoch(order(split), space(split));
  }

  int64_t targets_per_sample() const override { return space(Split::train).sample_tokens() - 1; }

 private:
  // On the CPU.
  Batch read(Split split, int64_t first_sample, int64_t count) const {
    std::vector<int64_t> offsets;
    for (int64_t sample = first_sample; sample < first_sample + count; ++sample)
      offsets.push_back(sample_offset(order(split), space(split), seed_, sample));
    return reader(split).read(offsets, length_, blocks_);
  }
  const TokenReader& reader(Split split) const {
    return split == Split::train ? train_ : validation_;
  }
  SampleOrder order(Split split) const {
    return split == Split::train ? order_ : SampleOrder::sequential;
  }
  SampleSpace space(Split split) const {
    return {reader(split).tokens(), length_, blocks_ == Blocks::separate,
            split == Split::validation};
  }

  TokenReader train_;
  TokenReader validation_;
  int64_t length_;
  int64_t seed_;
  at::Device device_;
  SampleOrder order_;
  Blocks blocks_;
  mutable LookAhead next_train_;
};

}  // namespace

std::unique_ptr<Dataset> make_token_dataset(const DatasetContext& context, SampleOrder order,
                                            Blocks blocks) {
  return std::make_unique<TokenDataset>(context, order, blocks);
}

std::unique_ptr<Dataset> make_token_dataset(const Section& section, const DatasetContext& context) {
  const bool separate = section.get<std::string>("blocks") == "separate";
  return make_token_dataset(context, sample_order(section.get<std::string>("order")),
                            separate ? Blocks::separate : Blocks::overlapping);
}

}  // namespace exprun
