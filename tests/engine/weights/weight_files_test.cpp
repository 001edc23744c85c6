// Weights in several files: what an index and its files do not agree on is refused.
#include "engine/weights/weight_files.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

using Names = std::vector<std::string>;

// A folder with an index and files of tensors, by name.
class Indexed {
 public:
  void write(const std::string& file, const Names& names) const {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, at::ones({2})});
    write_safetensors(folder_.path() / file, tensors);
  }

  // What is wrong with it, without the folder's name; or the tensors that it has.
  std::string opened(const nlohmann::json& map) const {
    folder_.write("model.safetensors.index.json", json_text(nlohmann::json{{"weight_map", map}}));
    try {
      std::string all;
      for (const std::string& name : WeightFiles(folder_.path()).names()) all += name + " ";
      return all;
    } catch (const Error& error) {
      std::string text = error.what();
      const std::string folder = folder_.path().string() + "/";
      for (size_t at = text.find(folder); at != text.npos; at = text.find(folder))
        text.erase(at, folder.size());
      return text;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("weight files: an index and its files say the same of each tensor, or are refused") {
  const Indexed indexed;
  const std::string first = "1.safetensors", second = "2.safetensors";
  indexed.write(first, {"a", "b"});
  indexed.write(second, {"c"});
  CHECK(indexed.opened({{"a", first}, {"b", first}, {"c", second}}) == "a b c ");
  CHECK(indexed.opened({{"a", first}, {"b", first}, {"c", second}, {"d", second}}) ==
        "weights: 'model.safetensors.index.json' says that 'd' is in '2.safetensors', where it is "
        "not");
  CHECK(indexed.opened({{"a", first}, {"b", second}, {"c", second}}) ==
        "weights: 'model.safetensors.index.json' says that 'b' is in '2.safetensors', where it is "
        "not");
  CHECK(indexed.opened({{"a", first}, {"c", second}}) ==
        "weights: 'model.safetensors.index.json' does not list 'b', which one of its files has");
  indexed.write(second, {"b", "c"});
  CHECK(indexed.opened({{"a", first}, {"b", first}, {"c", second}}) ==
        "weights: '2.safetensors' has the tensor 'b', which another file of the index also has");
}

}  // namespace
}  // namespace exprun
