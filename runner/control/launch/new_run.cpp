#include "control/launch/new_run.h"

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/utf8.h"
#include "control/launch/fresh_folder.h"
#include "control/launch/parameter_rows.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/uid.h"
#include "store/last_words.h"

namespace exprun {
namespace {

std::string stored_text(const LaunchRequest& request) {
  RecipeText text = request.text;
  text.overrides = request.resolved.overrides();
  return text.to_json();
}

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
  auto lock = FileLock::try_take(run_folder.lock());
  if (!lock) throw Error("launch: another process holds " + run_folder.lock().string());
  keep_room_for_last_words(lock->fd());
  write_hand_over(run_folder, request, prepared.data);
  const int64_t id = store.create_run(row);
  fresh.keep();
  return {id,
          1,
          run_folder,
          folder.shown / row.folder,
          std::move(*lock),
          std::nullopt,
          world_size(prepared.resolved),
          prepared.trainer};
}

}  // namespace exprun
