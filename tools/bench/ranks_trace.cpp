// Two ranks under ZeRO-1, seen by LibTorch's profiler: writes rank 0's trace of a few steps for
// Perfetto or chrome://tracing, and prints for how long collectives were under way, and for how
// much of that at least the rank computed: our own kernels
// are seen in backward only.
//
//   ranks_trace TRACE_FILE [STEPS]     default 3
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "engine/step.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

namespace profiler = torch::autograd::profiler;
namespace impl = torch::profiler::impl;

struct Span {
  uint64_t begin, end;  // ns
};
using Spans = std::vector<Span>;

// Sorted, and without overlaps.
Spans merged(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin < b.begin; });
  Spans all;
  for (const Span& span : spans)
    if (all.empty() || span.begin > all.back().end)
      all.push_back(span);
    else
      all.back().end = std::max(all.back().end, span.end);
  return all;
}

double milliseconds(const Spans& spans) {
  double sum = 0;
  for (const Span& span : spans) sum += static_cast<double>(span.end - span.begin) / 1e6;
  return sum;
}

Spans common(const Spans& a, const Spans& b) {
  Spans both;
  for (const Span& x : a)
    for (const Span& y : b)
      if (std::max(x.begin, y.begin) < std::min(x.end, y.end))
        both.push_back({std::max(x.begin, y.begin), std::min(x.end, y.end)});
  return both;
}

void print_overlaps(const std::vector<profiler::KinetoEvent>& events) {
  std::map<std::string, Spans> collectives;
  Spans computing;
  for (const auto& event : events) {
    const Span span{event.startNs(), event.startNs() + event.durationNs()};
    if (event.name().starts_with("gloo:"))
      collectives[event.name()].push_back(span);
    else
      computing.push_back(span);
  }
  computing = merged(computing);
  std::printf("computing: %.1f ms\n", milliseconds(computing));
  for (auto& [name, spans] : collectives) {
    const size_t count = spans.size();
    spans = merged(spans);
    std::printf("%s: %zu, under way %.1f ms, of that while computing %.1f ms\n", name.c_str(),
                count, milliseconds(spans), milliseconds(common(spans, computing)));
  }
}

void run_steps(TrainingStep& step, int64_t from, int64_t count) {
  for (int64_t k = from; k < from + count; ++k) step.run(k);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: ranks_trace TRACE_FILE [STEPS]\n", stderr), 2;
  const std::string file = argv[1];
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 3;
  const TinyRun run({"model.num_layers=12", "model.hidden_size=512", "model.num_heads=8",
                     "model.dropout=0", "model.context_length=128", "batch.sequences=16",
                     "batch.micro_batch=8", "parallelism.world_size=2",
                     "parallelism.strategy='zero1'"});
  on_ranks(2, [&](const auto& group, Rendezvous&) {
    at::set_num_threads(1);
    const Pipeline pipeline = run.build(group);
    TrainingStep step(pipeline, [] { return false; });
    run_steps(step, 0, 2);
    const bool watches = group->rank() == 0;
    const impl::ProfilerConfig config(impl::ProfilerState::KINETO);
    const std::set<impl::ActivityType> cpu{impl::ActivityType::CPU};
    if (watches) profiler::prepareProfiler(config, cpu), profiler::enableProfiler(config, cpu);
    run_steps(step, 2, steps);
    pipeline.optimizers().await_values();
    if (watches) {
      const auto result = profiler::disableProfiler();
      result->save(file);
      print_overlaps(result->events());
    }
    sum_over_ranks(*group, {1});
  });
  return 0;
}
