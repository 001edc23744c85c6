// What a dataset is to the engine: samples by global index. Data order is a pure function of
// (seed, index), so no position is saved and world size or micro-batch never change it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/documents.h"
#include "engine/registry.h"
#include "recipe/section.h"
#include "text/prepared_data.h"

namespace exprun {

// A sample of documents, of any length.
struct Pack {
  std::vector<int64_t> documents;  // the length of each
  int64_t tokens = 0;              // in all
  int64_t learned = 0;             // targets that count
};

struct Batch {
  at::Tensor inputs;            // (B, T) int64, on the device that the dataset was made for
  at::Tensor targets;           // (B, T) int64, there too
  int64_t largest_token = 0;    // over both: the engine compares it with the vocabulary
  int64_t counted_targets = 0;  // those that are not kIgnoredTarget (engine/model.h)

  // Of packed samples, which lie one after another: inputs and targets are (1, N) then.
  std::vector<Pack> packs = {};
  at::Tensor positions = {}, learned = {};  // as Documents has them, on the same device

  // The same on a device; from pinned memory the copy does not wait for what runs there.
  Batch on(at::Device device) const;

  bool is_packed() const { return !packs.empty(); }
  int64_t tokens() const { return inputs.numel(); }
  // Of its samples [first, first + count): views, and neither largest_token nor counted_targets.
  Batch part(int64_t first, int64_t count) const;
  // Of packed samples.
  Documents documents() const;
};

// A token, by its file and its place there, from 0.
struct TokenPlace {
  std::string file;
  int64_t index = 0;
  int64_t token = 0;
};

struct DatasetContext {
  const PreparedData& data;  // outlives the dataset
  int64_t sequence_length = 0;
  int64_t seed = 0;
  int64_t stride = 0;  // from a training batch to the next one, in samples
  at::Device device = at::kCPU;
  // Otherwise no training sample is asked for: the shards of that split are counted and not opened.
  bool trains = true;
};

class Dataset {
 public:
  using Factory = std::unique_ptr<Dataset> (*)(const Section& section,
                                               const DatasetContext& context);

  virtual ~Dataset() = default;

  // Samples first, first + 1, ... of the endless sequence of a split. Validation is always in
  // order from the start of the split. May be called from another thread than the last call.
  virtual Batch batch(Split split, int64_t first_sample, int64_t count) const = 0;

  // Samples in one pass over the split, of training whole ones; the last of validation may be
  // short: its targets past the end do not count. 0 if passes have no meaning (random offsets).
  virtual int64_t samples_per_epoch(Split split) const = 0;

  // Targets of a whole sample that count: its length, or one less where its last predicts nothing;
  // of packed samples the most that there may be.
  virtual int64_t targets_per_sample() const = 0;

  // The first token of the samples that is at least `least`; nothing where there is none by now, or
  // the tokens lie in no file.
  virtual std::optional<TokenPlace> find_token(Split, int64_t /*first_sample*/, int64_t /*count*/,
                                               int64_t /*least*/) const {
    return std::nullopt;
  }

  // Targets that count in the first `samples` of validation, whole ones.
  virtual int64_t validation_targets(int64_t samples) const {
    return samples * targets_per_sample();
  }

  // The text that asks for a response to an instruction, as its examples do, after a system message
  // unless that is empty. Only of a dataset with a template: the rules of recipes see to that.
  virtual std::string prompt_for(const std::string& instruction, const std::string& system) const;

  // What those who start a run should know of its samples; empty if nothing.
  virtual std::string remark() const { return ""; }
  // What is likely to be a mistake in the data, or in how they are cut; empty if nothing.
  virtual std::string warning() const { return ""; }
};

}  // namespace exprun
