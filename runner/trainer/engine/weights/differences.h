// A source of weights beside the model that they are for: where each tensor is, and everything in
// which the two differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "engine/weights/tensor_plan.h"
#include "engine/weights/weight_files.h"

namespace exprun {

// What it is in the recipe that decides how strict the import is.
struct Wishes {
  bool partial;
  bool resize_vocabulary;
  std::string unmatched =
      {};  // why no token may be left out; empty: they are matched by their text
};

// The tensors of a source by the names of a plan; files and plan outlive it.
class Source {
 public:
  Source(const WeightFiles& files, const TensorPlan& plan) : files_(files), plan_(plan) {}

  // As the file calls it; nothing where it is not there.
  std::optional<std::string> find(const std::string& name) const;
  const SafetensorsEntry& entry(const std::string& name) const { return files_.entry(*find(name)); }
  at::Tensor tensor(const std::string& name) const { return files_.tensor(*find(name)); }
  // It has been read.
  void release(const std::string& name) const { files_.release(*find(name)); }

  size_t found() const;  // of the plan's tensors

  const WeightFiles& files() const { return files_; }
  const TensorPlan& plan() const { return plan_; }

 private:
  const WeightFiles& files_;
  const TensorPlan& plan_;
};

// The tokens of source and model where both say how many rows are padding, which shapes hide.
struct Vocabularies {
  int64_t theirs = 0, ours = 0;
};
std::optional<Vocabularies> stated_vocabularies(const Source& source);

// Everything in which a source and the model differ, a text for each tensor.
struct Differences {
  std::vector<std::string> missing;  // of the model's
  std::vector<std::string> unused;   // of the source
  std::vector<std::string> unfit;    // shape or dtype
  bool leaves_adapter = false;       // among `unused` is one of [model.lora]

  bool none() const { return missing.empty() && unused.empty() && unfit.empty(); }
};

// "`exprun export RUN --step N --huggingface DIR` ...", for the checkpoint of a run that has an
// adapter.
std::string advice_on_adapter(const std::filesystem::path& checkpoint);

Differences compare(const Source& source, const Wishes& wishes);

// Whether the source has tokens that the model has no row for.
bool has_more_tokens(const Source& source);

// The error that names them all; a tensor that differs alike in several blocks is named once:
// 'h.{0..11}.attn.c_attn.weight'. `sizes`: lines about sizes that the source states, or empty.
Error misfit(const std::filesystem::path& path, const Source& source,
             const Differences& differences, const Wishes& wishes, const std::string& sizes);

}  // namespace exprun
