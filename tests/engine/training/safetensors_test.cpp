#include "engine/checkpoint/safetensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <doctest/doctest.h>

#include <cstring>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string problem(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto file = folder.write("x.safetensors", bytes);
  try {
    Safetensors read(file);
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(text.find("safetensors file: ") + 18);
  }
  return "none";
}

TEST_CASE("safetensors: every dtype and every bit comes back") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                           at::kShort, at::kChar, at::kByte, at::kBool}) {
    at::Tensor tensor = at::empty({2, 3}, at::TensorOptions().dtype(dtype));
    // Bits that are a NaN with a payload in the float types.
    if (dtype != at::kBool) std::memset(tensor.data_ptr(), 0xfe, tensor.nbytes());
    if (dtype == at::kBool) tensor.fill_(true);
    tensors.push_back({at::toString(dtype), tensor});
  }
  tensors.push_back({"scalar", at::arange(1).to(at::kFloat).view({})});
  tensors.push_back({"empty", at::empty({0, 4})});
  write_safetensors(folder.path() / "all.safetensors", tensors);

  const Safetensors read(folder.path() / "all.safetensors");
  CHECK(read.names().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    CAPTURE(name);
    CHECK(read.tensor(name).sizes().equals(tensor.sizes()));
    CHECK((read.tensor(name).scalar_type() == tensor.scalar_type()));
    CHECK(bytes_of(read.tensor(name)) == bytes_of(tensor));
  }
}

TEST_CASE("safetensors: the layout is the published one") {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", {{"w", at::arange(2).to(at::kFloat)}});
  const std::string header = R"({"w":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  const std::string data("\0\0\0\0\0\0\x80\x3f", 8);
  CHECK(read_file(folder.path() / "a") == with_header(padded, data));
}

TEST_CASE("safetensors: a damaged file is an error that says what is wrong") {
  CHECK(problem("abc") == "it has only 3 bytes");
  CHECK(problem(std::string(8, '\xff')) ==
        "its header should have 18446744073709551615 bytes, but the file has 8");
  CHECK(problem(with_header("{\"w\"", "")).starts_with("it is not JSON (parse error at line 1"));
  CHECK(problem(with_header(R"({"w":{"dtype":"F32"}})", "")) == "'w' has no shape");
  CHECK(problem(with_header(R"({"w":{"dtype":"F9","shape":[],"data_offsets":[0,4]}})", "1234")) ==
        "'w' has the unsupported dtype \"F9\"");
  const std::string f32 = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(problem(with_header(f32, "12345678")) == "none");
  CHECK(problem(with_header(f32, "1234")) ==
        "the offsets of 'w' do not match its shape or the file size");
  CHECK(problem(with_header(f32, "123456789")) ==
        "its tensors have 8 bytes, but the file has 9 after its header");
  CHECK(problem(with_header(R"({"w":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}})",
                            "12345678")) == "the shape of 'w' is not a list of sizes");
  CHECK(problem(with_header(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                            R"("v":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                            "123456")) == "its tensors overlap or leave a gap");
}

TEST_CASE("safetensors: a tensor that is not there is named") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  write_safetensors(file, {{"w", at::arange(2)}});
  CHECK_THROWS_WITH(Safetensors(file).tensor("v"),
                    ("safetensors: '" + file.string() + "' has no tensor 'v'").c_str());
}

}  // namespace
}  // namespace exprun
