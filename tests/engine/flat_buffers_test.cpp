#include "engine/buffers/flat_buffers.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>

namespace exprun {
namespace {

ParameterList two_parameters(at::Device device = at::kCPU) {
  ParameterList list(device);
  list.add("a", ParameterClass::matrix, {3, 5}, Initialization::constant(2));
  list.add("b", ParameterClass::matrix, {7}, Initialization::constant(3));
  list.initialize(1);
  return list;
}

TEST_CASE("flat buffers: every parameter starts on 64 bytes, padding is zero") {
  const auto list = two_parameters();
  const FlatBuffer buffer(list.items(), true);
  CHECK(buffer.parameter_slices()[0].offset == 0);
  CHECK(buffer.parameter_slices()[1].offset == 16);
  CHECK(buffer.range().values.numel() == 32);
  CHECK(buffer.range().decays);
  CHECK(buffer.range().values.sum().item<double>() == 15 * 2 + 7 * 3);
}

TEST_CASE("flat buffers: parameters keep their values and become views") {
  const auto list = two_parameters();
  const at::Tensor a = list.find("a")->tensor;  // as a model keeps it
  const FlatBuffer buffer(list.items(), false);
  CHECK(a.const_data_ptr() == buffer.range().values.const_data_ptr());
  CHECK(a.is_leaf());
  CHECK(a.requires_grad());
  CHECK(a.eq(2).all().item<bool>());
  buffer.range().values.fill_(9);
  CHECK(a.eq(9).all().item<bool>());
}

TEST_CASE("flat buffers: backward accumulates into the buffer in place") {
  const auto list = two_parameters();
  const FlatBuffer buffer(list.items(), false);
  for (int i = 0; i < 2; ++i) list.find("b")->tensor.mul(4).sum().backward();
  const at::Tensor gradients = buffer.range().gradients;
  CHECK(FlatBuffer::cut(gradients, buffer.parameter_slices()[1]).eq(8).all().item<bool>());
  CHECK(gradients.sum().item<double>() == 7 * 8);
  CHECK(list.find("b")->tensor.grad().const_data_ptr() ==
        static_cast<const float*>(gradients.const_data_ptr()) + 16);
}

TEST_CASE("flat buffers: gradients of bf16 weights add up in fp32 where they are asked to") {
  const auto sum_of_many = [](std::optional<at::ScalarType> gradients) {
    ParameterList list(at::kCPU, {at::kBFloat16, at::kBFloat16, at::kBFloat16, at::kBFloat16});
    const at::Tensor tensor =
        list.add("a", ParameterClass::matrix, {8}, Initialization::constant(1));
    const FlatBuffer buffer(list.items(), false, 1, gradients);
    tensor.mul(256).sum().backward();
    for (int i = 0; i < 100; ++i) tensor.sum().backward();  // half a step of bf16 each
    CHECK((buffer.range().values.scalar_type() == at::kBFloat16));
    return buffer.range().gradients[0].item<double>();
  };
  CHECK(sum_of_many(at::kFloat) == 356);
  CHECK(sum_of_many(at::kBFloat16) == 256);
  CHECK(sum_of_many(std::nullopt) == 256);
}

TEST_CASE("flat buffers: on the meta device only shapes exist") {
  const auto list = two_parameters(at::kMeta);
  const FlatBuffer buffer(list.items(), false);
  CHECK(buffer.range().values.is_meta());
  CHECK(buffer.range().values.numel() == 32);
}

}  // namespace
}  // namespace exprun
