#include "engine/schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/fixtures.h"
#include "support/sections.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::unique_ptr<Schedule> schedule(const std::string& type, int64_t steps,
                                   const std::string& keys = "") {
  const auto recipe = recipe_with("schedule", type, keys, steps);
  const Timeline timeline{steps, 8, 80};
  return Registry<Schedule>::instance().find(type)(recipe.section("schedule"), timeline);
}

std::string warmup(const json& steps, const char* form = "(k+1)/W") {
  return "warmup = \"" + steps.dump() + " steps\"\nwarmup_form = \"" + form + "\"\n";
}

// The largest difference from a recorded table of rates, which starts at update 0.
double off(const Schedule& schedule, double peak, const json& rates) {
  double worst = 0;
  for (size_t k = 0; k < rates.size(); ++k) {
    const double rate = peak * schedule.factor(static_cast<int64_t>(k));
    worst = std::max(worst, std::abs(rate - rates.at(k).get<double>()));
  }
  return worst;
}

}  // namespace

TEST_CASE("schedule: cosine is nanoGPT's get_lr") {
  const auto tables = json_fixture("parity/schedules.json");
  if (!tables) return;
  for (const auto& table : tables->at("nanogpt")) {
    const double peak = table.at("learning_rate");
    const json fraction = table.at("min_lr").get<double>() / peak;
    const auto decay = table.at("lr_decay_iters");
    const auto made =
        schedule("cosine", static_cast<int64_t>(table.at("lr").size()),
                 warmup(table.at("warmup_iters"), "(k+1)/(W+1)") + "decay_until = \"" +
                     decay.dump() + " steps\"\nmin_lr_factor = " + fraction.dump() + "\n");
    CHECK(off(*made, peak, table.at("lr")) <= 1e-15);
  }
}

TEST_CASE("schedule: cosine, linear, constant and wsd are llm.c's") {
  const auto tables = json_fixture("parity/schedules.json");
  if (!tables) return;
  for (const auto& table : tables->at("llmc_c")) {
    const auto type = table.at("type").get<std::string>();
    // llm.c's constant has no warmup.
    std::string keys = type == "constant" ? "" : warmup(table.at("warmup_iterations"));
    if (type != "constant")
      keys += "min_lr_factor = " + table.at("final_learning_rate_frac").dump() + "\n";
    if (type == "wsd") keys += "decay = \"one_minus_sqrt\"\n";
    const auto made = schedule(type, table.at("train_num_batches"), keys);
    INFO(table.dump().substr(0, 120));
    CHECK(off(*made, table.at("learning_rate"), table.at("lr_double_formula")) <= 1e-15);
    CHECK(off(*made, table.at("learning_rate"), table.at("lr_float")) <= 1e-10);
  }
}

TEST_CASE("schedule: wsd with a linear decay is modded-nanogpt's") {
  const auto tables = json_fixture("parity/schedules.json");
  if (!tables) return;
  for (const auto& table : tables->at("record8_multiplier")) {
    const auto made = schedule("wsd", table.at("num_iterations"),
                               warmup(table.at("warmup_iters")) + "decay_length = \"" +
                                   table.at("warmdown_iters").dump() + " steps\"\n");
    for (size_t i = 0; i < table.at("steps").size(); ++i)
      CHECK(std::abs(made->factor(table.at("steps").at(i)) -
                     table.at("multiplier").at(i).get<double>()) <= 1e-15);
  }
}

TEST_CASE("schedule: cosine is that of llm.c's Python and DDP-BASEMODEL-TRAIN") {
  const auto tables = json_fixture("parity/schedules.json");
  if (!tables) return;
  for (const auto& table : tables->at("llmc_python_and_seed002")) {
    const auto made = schedule("cosine", table.at("num_iterations"),
                               warmup(table.at("warmup_iters")) + "min_lr_factor = " +
                                   table.at("learning_rate_decay_frac").dump() + "\n");
    const double peak = table.at("learning_rate");
    for (size_t i = 0; i < table.at("steps").size(); ++i)
      CHECK(std::abs(peak * made->factor(table.at("steps").at(i)) -
                     table.at("lr").at(i).get<double>()) <= 1e-15);
  }
}

TEST_CASE("schedule: cosine_annealing is PyTorch's, and rises again") {
  const auto tables = json_fixture("parity/schedules.json");
  if (!tables) return;
  for (const auto& table : tables->at("torch_cosine_annealing")) {
    const double peak = table.at("base_lr");
    const json fraction = table.at("eta_min").get<double>() / peak;
    const auto& rates = table.at("closed_form");
    const auto made = schedule("cosine_annealing", static_cast<int64_t>(rates.size()),
                               "half_period = \"" + table.at("T_max").dump() +
                                   " steps\"\nmin_lr_factor = " + fraction.dump() + "\n");
    CHECK(off(*made, peak, rates) <= 1e-15);
    CHECK(off(*made, peak, table.at("recursive")) <= 1e-15);
  }
}

TEST_CASE("schedule: wsd decays in three forms") {
  const auto half_way = [](const char* form) {
    return schedule("wsd", 100,
                    std::string("decay_length = \"40 steps\"\nmin_lr_factor = 0.2\ndecay = \"") +
                        form + "\"\n")
        ->factor(70);
  };
  CHECK(half_way("linear") == doctest::Approx(0.2 + 0.75 * 0.8));
  CHECK(half_way("one_minus_sqrt") == doctest::Approx(0.2 + 0.5 * 0.8));
  CHECK(half_way("cosine") == doctest::Approx(0.2 + 0.5 * (1 + std::sqrt(0.5)) * 0.8));
}

TEST_CASE("schedule: inverse_sqrt falls from the end of its warmup") {
  const auto made = schedule("inverse_sqrt", 1000, warmup(16));
  CHECK(made->factor(7) == 0.5);
  CHECK(made->factor(15) == 1);
  CHECK(made->factor(63) == 0.5);
  CHECK(made->factor(399) == 0.2);
  CHECK(schedule("inverse_sqrt", 1000, "decay_until = \"99 steps\"\n")->factor(500) == 0.1);
}

TEST_CASE("schedule: the three forms of warmup") {
  CHECK(schedule("constant", 10, warmup(4))->factor(0) == 0.25);
  CHECK(schedule("constant", 10, warmup(4))->factor(3) == 1);
  CHECK(schedule("constant", 10, warmup(4, "(k+1)/(W+1)"))->factor(3) == 0.8);
  CHECK(schedule("constant", 10, warmup(4, "(k+1)/(W+1)"))->factor(4) == 1);
  CHECK(schedule("constant", 10, warmup(4, "k/W"))->factor(0) == 0);
  CHECK(schedule("constant", 10, warmup(4, "k/W"))->factor(2) == 0.5);
}

TEST_CASE("schedule: a decay stays at its end") {
  const auto linear = schedule("linear", 20, "decay_until = \"10 steps\"\nmin_lr_factor = 0.25\n");
  CHECK(linear->factor(0) == 1);
  CHECK(linear->factor(5) == 0.625);
  CHECK(linear->factor(10) == 0.25);
  CHECK(linear->factor(19) == 0.25);
  CHECK(schedule("cosine", 20, "decay_until = \"10 steps\"\n")->factor(15) == 0);
}

TEST_CASE("schedule: a warmup that reaches the end of the decay leaves no division by zero") {
  const auto made =
      schedule("cosine", 20, warmup(10) + "decay_until = \"10 steps\"\nmin_lr_factor = 0.5\n");
  CHECK(made->factor(9) == 1);
  CHECK(made->factor(10) == 0.5);
}

TEST_CASE("schedule: periods become steps") {
  const Timeline timeline{100, 8, 80};
  CHECK(timeline.to_steps({7, PeriodUnit::steps}) == 7);
  CHECK(timeline.to_steps({2, PeriodUnit::epochs}) == 20);
  CHECK(timeline.to_steps({100, PeriodUnit::tokens}) == 13);  // 12.5 rounds away from zero
  CHECK(timeline.to_steps({1, PeriodUnit::tokens}) == 1);
  CHECK(timeline.to_steps({0, PeriodUnit::tokens}) == 0);
  CHECK_THROWS_AS(timeline.to_steps({1, PeriodUnit::seconds}), std::logic_error);
}

TEST_CASE("schedule: epochs of an order without epochs are an error at their place") {
  const auto recipe = recipe_with("schedule", "cosine", "warmup = \"1 epoch\"\n", 1000);
  const Timeline endless{10, 8, 0};
  CHECK_THROWS_WITH_AS(
      Registry<Schedule>::instance().find("cosine")(recipe.section("schedule"), endless),
      doctest::Contains("epochs are not defined for this dataset's order"), RecipeError);
}
