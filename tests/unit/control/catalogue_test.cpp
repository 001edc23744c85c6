#include "control/data/fetch/catalogue.h"

#include <doctest/doctest.h>

using exprun::command_to_get;

TEST_CASE(
    "known data: a path, or a pattern that says how its files are called, comes with a command") {
  for (const auto& [pattern, command] :
       {std::pair("data/alpaca_data.json", "exprun data fetch alpaca"),
        std::pair("alpaca_data.json", "exprun data fetch alpaca --to '.'"),
        std::pair("/disk/gpt2/config.json", "exprun data fetch gpt2 --to '/disk/'"),
        std::pair("data/fineweb10b/fineweb_train_*.bin", "exprun data fetch fineweb10b"),
        std::pair("data/fineweb10b/fineweb_val_000000.bin", "exprun data fetch fineweb10b"),
        std::pair("data/fineweb_edu10b/*.bin", "exprun data fetch fineweb_edu10b"),
        std::pair("../data/*/finewebedu_val_*.bin",
                  "exprun data fetch fineweb_edu10b --to '../data/'"),
        std::pair("**/fineweb_train_00000[1-4].bin", "exprun data fetch fineweb10b --to '.'")}) {
    CAPTURE(pattern);
    CHECK(command_to_get(pattern).value_or("none") == command);
  }
}

TEST_CASE("known data: a pattern of anybody's files has no command") {
  for (const char* pattern : {"data/*.txt", "data/**/*.bin", "*.json", "*/*", "mine/*.bin",
                              "data/mine_alpaca_data.json", "d*/fineweb10b/fineweb_train_*.bin",
                              "data/fineweb10b/fineweb_train_*.npy", "data/fineweb10b"}) {
    CAPTURE(pattern);
    CHECK_FALSE(command_to_get(pattern));
  }
}
