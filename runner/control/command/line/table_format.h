// --json, --csv, --markdown and --latex of the commands that print a table.
#pragma once

#include "control/command/line/arguments.h"
#include "control/report/table.h"

namespace exprun {

// For people, to standard output: as wide as the terminal. Columns that have no room are named on
// standard error with `remedy`, which says where they are.
void print_plain(ResultTable table, const std::string& remedy = "--csv and --json have them");

// That these columns had no room, and where they are.
std::string left_out_text(const std::vector<std::string>& columns, const std::string& remedy);

struct TableFormat {
  bool json = false, csv = false, markdown = false, latex = false;

  // Declares the options; at most one may be given.
  void declare(Arguments& arguments, const char* json_help = "print a JSON array of objects");
  // Throws Error (wrong usage) where more than one was given: for a command that does something
  // before it prints.
  void check() const;
  // For people: none of them was given.
  bool is_plain() const { return !json && !csv && !markdown && !latex; }
  // For programs: numbers in full, one a cell.
  bool is_for_programs() const { return json || csv; }
  // To standard output. `empty` is said on standard error instead of a table without rows, where a
  // person reads.
  void print(ResultTable table, const std::string& empty) const;
};

}  // namespace exprun
