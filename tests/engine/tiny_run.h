// A run of a second for tests of the engine: a GPT of two blocks on random tokens.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/pipeline.h"
#include "engine/record/recorder.h"
#include "engine/trainer.h"
#include "support/temporary_folder.h"

namespace exprun {

inline constexpr int64_t kTinyVocabulary = 61;

// Overrides that make a TinyRun train on examples of instructions: its tokens are both.
extern const std::vector<std::string> kOfExamples;

class TinyRun {
 public:
  // A change of the recipe's text.
  struct Edit {
    std::string from, to;
  };

  // 40 steps with dropout, two micro-batches a step; `overrides` as on the command line.
  explicit TinyRun(std::vector<std::string> overrides = {},
                   const SchemaSet& schemas = SchemaSet::embedded(), const Edit& edit = {});

  RecipeText text;
  PreparedData data;
  ResolvedRecipe recipe;

  // A new pipeline, as a new process would build it.
  Pipeline build(std::shared_ptr<ProcessGroup> group = single_process(),
                 at::Device device = at::kCPU) const {
    return build_pipeline(recipe, data, std::move(group), device);
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  PreparedData make_data() const;

  TemporaryFolder folder_;
};

// Remembers everything.
class MemoryRecorder : public Recorder {
 public:
  void step(const StepRecord& record) override { steps.push_back(record); }
  void evaluation(int64_t step, const std::string& name, const EvaluationResult& result) override;
  void rolled_back(const Position& position) override;
  void event(const std::string& level, const std::string& kind, const std::string& text) override;

  // Identity series by name: step -> values, so that a second value of a step shows.
  std::map<std::string, std::vector<std::pair<int64_t, double>>> series() const;

  struct Evaluated {
    int64_t step;
    std::string name;
    EvaluationResult result;
  };
  std::vector<StepRecord> steps;
  std::vector<Evaluated> evaluations;
  std::vector<std::string> events;  // "level kind: text"
};

// Requests a stop at the n-th look, from 1; at none.
std::function<StopRequest()> stop_at_look(int n);
StopRequest never_stop();

// Every parameter, state tensor and average ("NAME/average"), copied.
std::map<std::string, at::Tensor> all_tensors(const Pipeline& pipeline);

// One attempt of the run, as a new process would have it: from its newest checkpoint, or the start,
// to its end or a stop.
struct Attempt {
  TrainingResult result;
  std::map<std::string, at::Tensor> tensors;  // all, at its end
};
Attempt make_attempt(const TinyRun& run, Recorder& recorder,
                     const std::function<StopRequest()>& stop_requested = never_stop,
                     at::Device device = at::kCPU,
                     const std::function<void(Pipeline&)>& prepare = nullptr);

}  // namespace exprun
