#include "base/terminal/progress_line.h"

#include <doctest/doctest.h>

#include "base/terminal/terminal.h"

using namespace exprun;

namespace {

std::string line_of_a_run(size_t columns, bool color = false) {
  return progress_line(0.38,
                       {{"76/200"},
                        {"loss 2.703" + inked("↓", Ink::green, color), 0,
                         "loss 2.70" + inked("↓", Ink::green, color)},
                        {"val 3.193", 1, "val 3.19"},
                        {"best 3.190", 2, "best 3.19"},
                        {"15,462 tokens/s", 3, "15.5k tok/s"},
                        {"1 min 12 s", 4, "1m12s"},
                        {"ETA 20 s", 0, "ETA 20s"}},
                       columns, color);
}

}  // namespace

TEST_CASE("progress line: the bar takes the room that is left, and what matters least goes first") {
  CHECK(line_of_a_run(119) ==
        " 38% [===========>                 ]  76/200  loss 2.703↓  val 3.193  best 3.190  15,462 "
        "tokens/s  1 min 12 s  ETA 20 s");
  CHECK(line_of_a_run(79) ==
        " 38% [==>   ] 76/200 loss 2.703↓ val 3.193 best 3.190 15.5k tok/s 1m12s ETA 20s");
  CHECK(line_of_a_run(75) ==
        " 38% [=> ] 76/200 loss 2.703↓ val 3.193 best 3.19 15.5k tok/s 1m12s ETA 20s");
  CHECK(line_of_a_run(50) == " 38% [===>    ] 76/200 loss 2.70↓ val 3.19 ETA 20s");
  CHECK(line_of_a_run(20) == " 38% 76/200 loss 2.7");
}

TEST_CASE("progress line: colors take no room") {
  const std::string plain = line_of_a_run(119), colored = line_of_a_run(119, true);
  CHECK(shown_width(colored) == shown_width(plain));
  CHECK(colored ==
        " 38% [\x1b[36m===========>\x1b[0m                 ]  76/200  loss 2.703\x1b[32m↓\x1b[0m  "
        "val 3.193  best 3.190  15,462 tokens/s  1 min 12 s  ETA 20 s");
}

TEST_CASE("progress line: a bar is full when all is done, and not before") {
  CHECK(progress_line(0.999, {}, 20, false) == " 99% [============>]");
  CHECK(progress_line(1, {}, 20, false) == "100% [=============]");
  CHECK(progress_line(1.5, {}, 20, false) == "100% [=============]");
}

TEST_CASE("progress line: work tells what is done, how fast, and how long it takes") {
  CHECK(work_done(12'000, 65'536, "tokens", 1.5) ==
        "12.0 k of 65.5 k tokens, 8.00 k tokens/s, ETA 7 s");
  CHECK(work_done(0, 65'536, "tokens", 10) == "0 of 65.5 k tokens");
  CHECK(work_done(3, 200, "endings", 0.1) == "3 of 200 endings");
  CHECK(work_done(49, 1000, "endings", 0.1) == "49 of 1,000 endings");
  CHECK(work_done(20'100, 20'000, "tokens", 0.1) == "20.0 k of 20.0 k tokens");
}

TEST_CASE("format: spans of time are in units that a person reads") {
  CHECK(time_span(0.51) == "<1 s");
  CHECK(time_span(0.97) == "1 s");
  CHECK(time_span(80) == "1 min 20 s");
  CHECK(time_span(7'499) == "2 h 4 min");
  CHECK(time_span(273'600) == "3 d 4 h");
  CHECK(time_span(-1) == "?");
  CHECK(brief_time_span(0.51) == "<1s");
  CHECK(brief_time_span(80) == "1m20s");
  CHECK(brief_time_span(7'499) == "2h4m");
  CHECK(brief_time_span(273'600) == "3d4h");
}

TEST_CASE("terminal: text is broken between words, and lines keep their indent") {
  CHECK(wrapped_lines("one two three\n  four five six", 2, 4, 12) ==
        "one two\n  three\n  four five\n    six");
  CHECK(wrapped_lines("extraordinarily long", 2, 0, 6) == "extraordinarily\n  long");
  CHECK(clipped("ab\x1b[36mcd\x1b[0m", 3) == "ab\x1b[36mc\x1b[0m");
}
