#include "control/report/export/tensorboard.h"

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <iterator>

#include "store/metrics/metric_writer.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

size_t occurrences(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

std::string the_file(const std::filesystem::path& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(stream), {});
  }
  return bytes;
}

}  // namespace

TEST_CASE("tensorboard: every value, sample and parameter of a run is exported") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  NewRun wanted;
  wanted.uid = std::string(32, 'a');
  wanted.name = "tiny";
  wanted.folder = "tiny-aaaaaaaa";
  wanted.parameters = {{"optimizer.lr", "0.01", true}};
  const RunRow run = *store.run(store.create_run(wanted));
  {
    MetricWriter metrics(folder.path() / "exprun.db", run.id);
    const auto loss = metrics.series("train/loss", false);
    for (int64_t step = 1; step <= 3; ++step) {
      const std::array<MetricWriter::Point, 1> points{{{loss, 1.0}}};
      metrics.push(step, points);
    }
  }
  folder.write("run/samples/step_00000003.txt", "Romeo");
  folder.write("run/samples/step_00000003_long.txt", "Juliet");
  write_tensorboard(store, run, {folder.path() / "run"}, folder.path() / "tensorboard");
  const std::string bytes = the_file(folder.path() / "tensorboard");
  CHECK(occurrences(bytes, "train/loss") == 3 + 1);  // and as a metric of the hyper-parameters
  CHECK(occurrences(bytes, "optimizer.lr") == 2);    // what it is, and its value
  CHECK(occurrences(bytes, "Romeo") == 1);
  CHECK(occurrences(bytes, "Juliet") == 1);
  CHECK(occurrences(bytes, "long") == 1);
}
