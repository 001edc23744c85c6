#include "control/report/compare/side_by_side.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/terminal/terminal.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr size_t kNarrowestCell = 16;  // of a text that is cut
constexpr size_t kWidestNumber = 32;   // "0.7709 at step 400", which means nothing when it is cut
constexpr size_t kBetween = 2;

size_t width_of_column(const ResultTable& table, size_t column) {
  size_t widest = display_width(table.columns[column].title);
  for (const auto& row : table.rows) widest = std::max(widest, display_width(row[column].text));
  return widest;
}

// How wide a run's column may be and has to be. Long texts, as of an environment variable, are cut
// in any case, so that the runs stay beside each other.
struct Widths {
  size_t least, wanted;
};

Widths widths_of(const ResultTable& table, size_t column) {
  const size_t title = display_width(table.columns[column].title);
  Widths widths{title, title};
  for (const auto& row : table.rows) {
    const Cell& cell = row[column];
    const size_t wanted = std::min(display_width(cell.text), kWidestCell);
    const size_t shortest = cell.as_number() ? kWidestNumber : kNarrowestCell;
    widths.least = std::max(widths.least, std::min(wanted, shortest));
    widths.wanted = std::max(widths.wanted, wanted);
  }
  return widths;
}

using Group = std::vector<size_t>;  // columns beside each other

size_t width_together(const Group& group, const std::vector<Widths>& widths,
                      size_t Widths::*which) {
  size_t used = 0;
  for (const size_t column : group) used += kBetween + widths[column].*which;
  return used;
}

// As many in each as have room, one at least.
std::vector<Group> groups_that_fit(const std::vector<Widths>& widths, size_t Widths::*which,
                                   size_t room) {
  std::vector<Group> groups(1);
  for (size_t column = 0; column < widths.size(); ++column) {
    Group with_it = groups.back();
    with_it.push_back(column);
    if (with_it.size() == 1 || width_together(with_it, widths, which) <= room)
      groups.back() = std::move(with_it);
    else
      groups.push_back({column});
  }
  return groups;
}

// So many of about the same size, or fewer.
std::vector<Group> even_groups(size_t columns, size_t count) {
  std::vector<Group> groups(1);
  const size_t size = (columns + count - 1) / count;
  for (size_t column = 0; column < columns; ++column) {
    if (groups.back().size() == size) groups.emplace_back();
    groups.back().push_back(column);
  }
  return groups;
}

// As few as have room. Where texts have to be cut for that, they share the room evenly.
std::vector<Group> groups_of(const std::vector<Widths>& widths, size_t room) {
  auto whole = groups_that_fit(widths, &Widths::wanted, room);
  auto cut = groups_that_fit(widths, &Widths::least, room);
  if (whole.size() == cut.size()) return whole;
  auto even = even_groups(widths.size(), cut.size());
  const bool fit = std::all_of(even.begin(), even.end(), [&](const Group& group) {
    return width_together(group, widths, &Widths::least) <= room;
  });
  return fit ? even : cut;
}

// The room that is left goes to those that want more, a column of the terminal at a time.
std::vector<size_t> widths_within(const Group& group, const std::vector<Widths>& widths,
                                  size_t room) {
  std::vector<size_t> given;
  for (const size_t column : group) given.push_back(widths[column].least);
  const size_t used = width_together(group, widths, &Widths::least);
  size_t left = room - std::min(room, used);
  for (bool any = true; any && left > 0;) {
    any = false;
    for (size_t i = 0; i < group.size() && left > 0; ++i) {
      if (given[i] >= widths[group[i]].wanted) continue;
      any = true;
      ++given[i];
      --left;
    }
  }
  return given;
}

// The names, and these runs.
ResultTable part_of(const ResultTable& table, const Group& group,
                    const std::vector<size_t>& widths) {
  ResultTable part{{table.columns.front()}, {}};
  for (const size_t column : group) part.columns.push_back(table.columns[column + 1]);
  for (const auto& row : table.rows) {
    auto& cells = part.rows.emplace_back(1, row.front());
    for (size_t i = 0; i < group.size(); ++i) {
      cells.push_back(row[group[i] + 1]);
      cells.back().text = shortened(cells.back().text, widths[i]);
    }
  }
  return part;
}

}  // namespace

ResultTable side_by_side(const std::string& what, const std::vector<ReportedRun>& runs,
                         std::vector<ComparedColumn> rows) {
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  ResultTable across = table_of(std::move(rows), order);
  ResultTable table{{{"name", what}}, {}};
  for (const ReportedRun& run : runs) table.columns.push_back({run.run.folder, run.run.folder});
  for (size_t row = 0; row < across.columns.size(); ++row) {
    auto& cells = table.rows.emplace_back(1, Cell::word(across.columns[row].title));
    for (auto& of_run : across.rows) cells.push_back(std::move(of_run[row]));
  }
  return table;
}

std::string side_by_side_text(const ResultTable& table, size_t width, bool colors) {
  std::vector<Widths> widths;
  for (size_t run = 1; run < table.columns.size(); ++run) widths.push_back(widths_of(table, run));
  const size_t names = width_of_column(table, 0);
  const size_t room = width ? width - std::min(width, names) : std::numeric_limits<size_t>::max();
  std::string text;
  for (const Group& group : groups_of(widths, room))
    text += (text.empty() ? "" : "\n") +
            to_plain(part_of(table, group, widths_within(group, widths, room)), {0, colors});
  return text;
}

}  // namespace exprun
