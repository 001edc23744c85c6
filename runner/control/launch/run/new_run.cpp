#include "control/launch/run/new_run.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/utf8.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run/run_lock.h"
#include "store/end_record.h"

namespace exprun {

namespace fs = std::filesystem;

FreshFolder::FreshFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  const bool made = !error && fs::create_directory(path_, error);
  if (error)
    throw Error("launch: cannot make the run's folder '" + path_.string() +
                "': " + error.message() + "; choose another place with --store DIR");
  if (!made)
    throw Error("launch: the new run's folder '" + path_.string() +
                "' already exists; the same command again chooses another name");
}

FreshFolder::~FreshFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

std::string make_uid() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error("launch: the kernel gives no random numbers for the run's id");
  std::string uid;
  for (const unsigned char byte : bytes) {
    uid += "0123456789abcdef"[byte >> 4];
    uid += "0123456789abcdef"[byte & 15];
  }
  return uid;
}

std::string run_folder_name(const std::string& name, const std::string& uid) {
  constexpr size_t kLongest = 128;  // bytes: names of files have 255
  return std::string(first_bytes(name, kLongest)) + '-' + uid.substr(0, 8);
}

std::vector<ParameterRow> parameter_rows(const ResolvedRecipe& resolved) {
  const auto changed = resolved.leaves(true);
  std::vector<ParameterRow> parameters;
  for (auto& leaf : resolved.leaves(false)) {
    const bool is_changed = std::find(changed.begin(), changed.end(), leaf) != changed.end();
    parameters.push_back({std::move(leaf.first), std::move(leaf.second), is_changed});
  }
  return parameters;
}

std::string stored_text(const LaunchRequest& request) {
  RecipeText text = request.text;
  text.overrides = request.resolved.overrides();  // as many, with the whole paths of their keys
  return text.to_json();
}

namespace {

NewRun row_of(const LaunchRequest& request, const PreparedLaunch& prepared) {
  const Section run = prepared.resolved.section("run");
  NewRun row;
  row.uid = make_uid();
  row.name = run.get<std::string>("name");
  row.recipe_hash = request.resolved.hash();
  row.recipe_json = stored_text(request);
  row.resolved_toml = prepared.resolved.to_toml();
  row.folder = run_folder_name(row.name, row.uid);
  row.working_directory = std::filesystem::current_path().string();
  row.command_line = request.command_line;
  row.data_fingerprint = prepared.data.fingerprint;
  row.seed = run.get<int64_t>("seed");
  row.steps = prepared.steps;
  row.parameters = parameter_rows(prepared.resolved);
  row.sweep_id = request.sweep_id;
  row.trial = request.trial;
  row.tags = run.get<std::vector<std::string>>("tags");
  row.provenance = prepared.provenance;
  if (request.origin) row.origin = to_json(*request.origin);
  if (request.origin) row.from_step = request.origin->checkpoint.step;
  return row;
}

}  // namespace

void write_hand_over(const RunFolder& folder, const LaunchRequest& request,
                     const PreparedData& data) {
  write_file_atomically(folder.recipe(), stored_text(request));
  PreparedData written = data;
  const std::string store = folder.path.parent_path().string();
  if (!first_invalid_byte(store)) written.store = store;  // else JSON cannot say it
  write_file_atomically(folder.data(), written.to_json());
}

Attempt begin_new_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                      const PreparedLaunch& prepared) {
  const NewRun row = row_of(request, prepared);
  const RunFolder run_folder = folder.run(row.folder);
  FreshFolder fresh(run_folder.path);
  FileLock lock = lock_new_run(run_folder);
  reserve_end_record(lock.fd());
  write_hand_over(run_folder, request, prepared.data);
  std::optional<std::filesystem::path> begins_with;
  if (request.origin)
    begins_with =
        copy_checkpoint(*request.origin, run_folder, prepared.resolved, row.data_fingerprint).path;
  const int64_t id = store.create_run(row);
  fresh.keep();
  return {id,
          1,
          run_folder,
          folder.shown / row.folder,
          std::move(lock),
          std::move(begins_with),
          "",
          world_size(prepared.resolved),
          prepared.trainer};
}

}  // namespace exprun
