// Examples of instructions and responses, which the launcher has made into token shards and the
// segments of each example. A sample is a pack of whole examples of at most sequence_length tokens
// together, one after another without a gap: nothing is padded.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "base/diagnostic.h"
#include "engine/data/prefetcher.h"
#include "engine/data/token_dataset.h"
#include "engine/model.h"
#include "text/example_template.h"
#include "text/examples.h"
#include "text/sample_order.h"

namespace exprun {
namespace {

// The examples of a split, in packs.
class PackedSplit {
 public:
  PackedSplit(const std::vector<TokenShard>& shards, const std::vector<TokenShard>& segments,
              const DatasetContext& context, bool truncates, bool opened = true)
      : pins_memory_(!context.device.is_cpu()),
        tokens_(shards, /*pins_memory=*/false, opened),
        list_(read_segment_words(segments), tokens_.tokens(), context.sequence_length, truncates),
        packs_(packed_examples(list_.examples, context.sequence_length, context.seed)),
        learned_before_{0} {
    for (const auto& pack : packs_) {
      int64_t learned = 0;
      for (const size_t index : pack) learned += list_.examples[index].learned;
      learned_before_.push_back(learned_before_.back() + learned);
    }
  }

  const ExampleList& list() const { return list_; }
  int64_t packs() const { return static_cast<int64_t>(packs_.size()); }
  // Targets that count in the first packs.
  int64_t learned_in(int64_t packs) const { return learned_before_[static_cast<size_t>(packs)]; }

  // On the CPU.
  Batch read(const std::vector<int64_t>& packs) const {
    int64_t tokens = 0, learned = 0;
    std::vector<Pack> described;
    for (const int64_t pack : packs) {
      described.push_back(describe(pack));
      tokens += described.back().tokens;
      learned += described.back().learned;
    }
    const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(pins_memory_);
    Batch batch{at::empty({1, tokens}, options),
                at::empty({1, tokens}, options),
                0,
                learned,
                std::move(described),
                at::empty({tokens}, options),
                at::empty({learned}, options)};
    Cursor to{batch.inputs.data_ptr<int64_t>(), batch.targets.data_ptr<int64_t>(),
              batch.positions.data_ptr<int64_t>(), batch.learned.data_ptr<int64_t>()};
    for (const int64_t pack : packs)
      for (const size_t index : packs_[static_cast<size_t>(pack)])
        batch.largest_token = std::max(batch.largest_token, read(list_.examples[index], to));
    return batch;
  }

  std::optional<TokenPlace> find_token(const std::vector<int64_t>& packs, int64_t least) const {
    for (const int64_t pack : packs)
      for (const size_t index : packs_[static_cast<size_t>(pack)]) {
        const Example& example = list_.examples[index];
        if (auto place = tokens_.find(example.first_token, example.tokens + 1, least)) return place;
      }
    return std::nullopt;
  }

 private:
  // Where the next example goes.
  struct Cursor {
    int64_t *inputs, *targets, *positions, *learned;
    int64_t place = 0;  // in the row
  };

  Pack describe(int64_t pack) const {
    Pack described;
    for (const size_t index : packs_[static_cast<size_t>(pack)]) {
      const Example& example = list_.examples[index];
      described.documents.push_back(example.tokens);
      described.tokens += example.tokens;
      described.learned += example.learned;
    }
    return described;
  }

  // Returns the largest token.
  int64_t read(const Example& example, Cursor& to) const {
    std::vector<int64_t> tokens(static_cast<size_t>(example.tokens) + 1);
    const int64_t largest = tokens_.copy(example.first_token, example.tokens + 1, tokens.data());
    std::copy(tokens.begin(), tokens.end() - 1, to.inputs + to.place);
    std::fill_n(to.targets + to.place, example.tokens, kIgnoredTarget);
    std::iota(to.positions + to.place, to.positions + to.place + example.tokens, 0);
    list_.for_each_learned(example, [&](int64_t at) {
      to.targets[to.place + at] = tokens[static_cast<size_t>(at) + 1];
      *to.learned++ = to.place + at;
    });
    to.place += example.tokens;
    return largest;
  }

  bool pins_memory_;
  TokenReader tokens_;
  ExampleList list_;
  std::vector<std::vector<size_t>> packs_;
  std::vector<int64_t> learned_before_;
};

class InstructionDataset final : public Dataset {
 public:
  InstructionDataset(const Section& section, const DatasetContext& context)
      : template_(section.get<std::string>("template")),
        train_(context.data.train, context.data.train_segments, context, truncates(section),
               context.trains),
        validation_(context.data.validation, context.data.validation_segments, context,
                    truncates(section)),
        length_(context.sequence_length),
        seed_(context.seed),
        device_(context.device),
        next_train_(
            [this](int64_t first, int64_t count) { return read(Split::train, first, count); },
            context.stride, context.device) {
    if (context.trains && train_.packs() == 0)
      throw section.error("path",
                          "no example has a response within sequence_length, " +
                              std::to_string(length_) + " tokens, so there is nothing to learn",
                          "use longer sequences (model.context_length, and "
                          "batch.sequence_length if it is set)");
  }

  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    return split == Split::train ? next_train_.take(first_sample, count)
                                 : read(split, first_sample, count).on(device_);
  }

  int64_t samples_per_epoch(Split split) const override { return of(split).packs(); }
  int64_t targets_per_sample() const override { return length_; }
  int64_t validation_targets(int64_t samples) const override {
    return validation_.learned_in(samples);
  }

  std::optional<TokenPlace> find_token(Split split, int64_t first_sample, int64_t count,
                                       int64_t least) const override {
    return of(split).find_token(packs(split, first_sample, count), least);
  }

  std::string prompt_for(const std::string& instruction, const std::string& system) const override {
    return template_.prompt(instruction, system);
  }

  std::string remark() const override {
    return remark_on(train_.list(), static_cast<size_t>(train_.packs()));
  }

  std::string warning() const override {
    const auto dropped = many_dropped(train_.list());
    return dropped ? dropped->message + "; " + dropped->help : "";
  }

 private:
  static bool truncates(const Section& section) {
    return section.get<std::string>("too_long") == "truncate";
  }

  const PackedSplit& of(Split split) const { return split == Split::train ? train_ : validation_; }

  // Validation in order, training in a new order each epoch.
  std::vector<int64_t> packs(Split split, int64_t first_sample, int64_t count) const {
    const SampleSpace space = space_of_packs(static_cast<size_t>(of(split).packs()));
    const auto order =
        split == Split::train ? SampleOrder::shuffled_blocks : SampleOrder::sequential;
    std::vector<int64_t> packs;
    for (int64_t sample = first_sample; sample < first_sample + count; ++sample)
      packs.push_back(sample_offset(order, space, seed_, sample));
    return packs;
  }

  // On the CPU.
  Batch read(Split split, int64_t first_sample, int64_t count) const {
    return of(split).read(packs(split, first_sample, count));
  }

  ExampleTemplate template_;
  PackedSplit train_, validation_;
  int64_t length_;
  int64_t seed_;
  at::Device device_;
  mutable Prefetcher next_train_;
};

std::unique_ptr<Dataset> build(const Section& section, const DatasetContext& context) {
  return std::make_unique<InstructionDataset>(section, context);
}

const Register<Dataset> registration{"instruction", build};

}  // namespace
}  // namespace exprun
