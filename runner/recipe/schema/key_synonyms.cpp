#include "recipe/schema/key_synonyms.h"

#include <algorithm>
#include <iterator>

namespace exprun {
namespace {

constexpr const char* kPeriod = ", as in \"100 steps\"";
constexpr const char* kEpochs = ", as in \"3 epochs\"";
constexpr const char* kFraction = ", a fraction of lr";
constexpr const char* kBetas = ", as in [0.9, 0.95]";
constexpr const char* kRanks = ", the number of processes: one per GPU";
constexpr const char* kGlobal = ", the size of the global batch over all ranks and micro-batches";
constexpr const char* kMicro = ", the part of the global batch that is computed at once";

constexpr const char* kSchedule = ", as in \"cosine\"";
constexpr const char* kCompile =
    "exprun has nothing to compile: it measures which kernels are the fastest, and keeps them";
constexpr const char* kStore =
    "runs are stored in runs/, or in the folder that --store or EXPRUN_STORE names";
constexpr const char* kTracking =
    "exprun records every metric itself: see `exprun report` and `exprun plot`; for TensorBoard "
    "set metrics.tensorboard=true";
constexpr const char* kReading = "exprun reads ahead by itself";
constexpr const char* kAttention = "exprun's attention is fused where that is faster";
constexpr const char* kDataParallel =
    "exprun splits the batch over ranks: parallelism.strategy is \"ddp\", or \"zero1\", which also "
    "divides the optimizer's state";
constexpr const char* kResume =
    "the same command continues a run that was interrupted, and `exprun resume RUN` any other";
constexpr const char* kExtends = "a recipe names its parent: extends = \"base.toml\"";

constexpr const char* kInitialStep =
    "init_from itself names the checkpoint: runs/RUN/checkpoints/step_..., RUN for its newest one, "
    "or @best for the best of all runs";

constexpr KeySynonym kKeys[] = {
    {"init_from.step", "", kInitialStep},
    {"model.init_from.step", "", kInitialStep},
    {"batch_size", "batch.sequences", kGlobal},
    {"global_batch_size", "batch.sequences", kGlobal},
    {"train_batch_size", "batch.sequences", kGlobal},
    {"per_device_train_batch_size", "batch.micro_batch", kMicro},
    {"gradient_accumulation_steps", "batch.micro_batch", kMicro},
    {"grad_accum_steps", "batch.micro_batch", kMicro},
    {"grad_accum", "batch.micro_batch", kMicro},
    {"micro_batch_size", "batch.micro_batch", kMicro},
    {"accumulate_grad_batches", "batch.micro_batch", kMicro},
    {"bs", "batch.sequences", kGlobal},
    {"block_size", "model.context_length"},
    {"n_ctx", "model.context_length"},
    {"n_positions", "model.context_length"},
    {"max_seq_len", "model.context_length"},
    {"max_position_embeddings", "model.context_length"},
    {"max_seq_length", "model.context_length"},
    {"max_length", "model.context_length"},
    {"seq_len", "batch.sequence_length"},
    {"seq_length", "batch.sequence_length"},
    {"n_embd", "model.hidden_size"},
    {"d_model", "model.hidden_size"},
    {"dim", "model.hidden_size"},
    {"hidden_dim", "model.hidden_size"},
    {"d_ff", "model.feed_forward_size"},
    {"ffn_dim", "model.feed_forward_size"},
    {"intermediate_size", "model.feed_forward_size"},
    {"n_layer", "model.num_layers"},
    {"n_layers", "model.num_layers"},
    {"num_hidden_layers", "model.num_layers"},
    {"n_head", "model.num_heads"},
    {"n_heads", "model.num_heads"},
    {"heads", "model.num_heads"},
    {"num_attention_heads", "model.num_heads"},
    {"n_kv_head", "model.num_key_value_heads"},
    {"n_kv_heads", "model.num_key_value_heads"},
    {"num_kv_heads", "model.num_key_value_heads"},
    {"tie_word_embeddings", "model.tie_embeddings"},
    {"rope", "model.position.type", " = \"rotary\""},
    {"rope_base", "model.position.rope_theta"},
    {"learning_rate", "optimizer.lr"},
    {"max_lr", "optimizer.lr"},
    {"min_lr", "schedule.min_lr_factor", kFraction},
    {"lr_min", "schedule.min_lr_factor", kFraction},
    {"eta_min", "schedule.min_lr_factor", kFraction},
    {"beta1", "optimizer.betas", kBetas},
    {"beta2", "optimizer.betas", kBetas},
    {"adam_beta1", "optimizer.betas", kBetas},
    {"adam_beta2", "optimizer.betas", kBetas},
    {"adam_epsilon", "optimizer.eps"},
    {"optim", "optimizer.type", ", as in \"adamw\""},
    {"wd", "optimizer.weight_decay"},
    {"grad_clip", "optimizer.max_grad_norm"},
    {"gradient_clip", "optimizer.max_grad_norm"},
    {"gradient_clipping", "optimizer.max_grad_norm"},
    {"gradient_clip_val", "optimizer.max_grad_norm"},
    {"clip_grad_norm", "optimizer.max_grad_norm"},
    {"clip_grad", "optimizer.max_grad_norm"},
    {"max_norm", "optimizer.max_grad_norm"},
    {"max_iters", "run.steps"},
    {"max_steps", "run.steps"},
    {"num_iterations", "run.steps"},
    {"num_steps", "run.steps"},
    {"train_steps", "run.steps"},
    {"epochs", "run.length", kEpochs},
    {"num_epochs", "run.length", kEpochs},
    {"num_train_epochs", "run.length", kEpochs},
    {"max_epochs", "run.length", kEpochs},
    {"warmup_iters", "schedule.warmup", kPeriod},
    {"warmup_steps", "schedule.warmup", kPeriod},
    {"warmup_ratio", "schedule.warmup", kPeriod},
    {"lr_scheduler_type", "schedule.type", kSchedule},
    {"lr_scheduler", "schedule.type", kSchedule},
    {"scheduler", "schedule.type", kSchedule},
    {"lr_decay_iters", "schedule.decay_until", kPeriod},
    {"eval_interval", "evaluation.val_loss.every", kPeriod},
    {"eval_every", "evaluation.val_loss.every", kPeriod},
    {"eval_steps", "evaluation.val_loss.every", kPeriod},
    {"val_check_interval", "evaluation.val_loss.every", kPeriod},
    {"eval_strategy", "evaluation.val_loss.every", kPeriod},
    {"evaluation_strategy", "evaluation.val_loss.every", kPeriod},
    {"eval_iters", "evaluation.val_loss.tokens"},
    {"checkpoint.interval", "checkpoint.every", kPeriod},
    {"save_interval", "checkpoint.every", kPeriod},
    {"save_every", "checkpoint.every", kPeriod},
    {"save_steps", "checkpoint.every", kPeriod},
    {"save_strategy", "checkpoint.every", kPeriod},
    {"ckpt_every", "checkpoint.every", kPeriod},
    {"ckpt_interval", "checkpoint.every", kPeriod},
    {"checkpoint_every", "checkpoint.every", kPeriod},
    {"save_total_limit", "checkpoint.keep_last"},
    {"keep_latest_k", "checkpoint.keep_last"},
    {"always_save_checkpoint", "checkpoint.every", kPeriod},
    {"early_stopping", "run.early_stop.patience"},
    {"early_stopping_patience", "run.early_stop.patience"},
    {"monitor", "run.best_metric"},
    {"run.early_stop.metric", "run.best_metric"},
    {"run.early_stop.mode", "run.best_goal"},
    {"log_interval", "metrics.progress_every", kPeriod},
    {"log_every", "metrics.progress_every", kPeriod},
    {"log_every_n_steps", "metrics.progress_every", kPeriod},
    {"logging_steps", "metrics.progress_every", kPeriod},
    {"logging_strategy", "metrics.progress_every", kPeriod},
    {"enable_tensorboard", "metrics.tensorboard"},
    {"compile", "", kCompile},
    {"torch_compile", "", kCompile},
    {"flash_attn", "", kAttention},
    {"flash_attention", "", kAttention},
    {"use_flash", "", kAttention},
    {"use_flash_attention", "", kAttention},
    {"eval_only", "", "`exprun eval RUN` evaluates a checkpoint"},
    {"defaults", "", kExtends},
    {"output_dir", "", kStore},
    {"out_dir", "", kStore},
    {"run_dir", "", kStore},
    {"save_dir", "", kStore},
    {"checkpoint.folder", "", kStore},
    {"resume", "", kResume},
    {"resume_from", "", kResume},
    {"resume_from_checkpoint", "", kResume},
    {"data_path", "dataset.path"},
    {"data_dir", "dataset.path"},
    {"train_file", "dataset.path"},
    {"val_split", "dataset.validation_fraction"},
    {"val_fraction", "dataset.validation_fraction"},
    {"validation_split", "dataset.validation_fraction"},
    {"label_smoothing", "", "exprun's loss has no label smoothing"},
    {"wandb", "", kTracking},
    {"wandb_log", "", kTracking},
    {"wandb_project", "", kTracking},
    {"project", "", kTracking},
    {"tag", "run.tags", ", as in [\"baseline\"]"},
    {"notes", "", "`exprun note RUN TEXT` adds a note to a run"},
    {"run_name", "run.name"},
    {"experiment_name", "run.name"},
    {"wandb_run_name", "run.name"},
    {"sweep.parameters", "sweep.axes"},
    {"report_to", "", kTracking},
    {"workers", "", kReading},
    {"num_workers", "", kReading},
    {"dataloader_num_workers", "", kReading},
    {"gradient_checkpointing", "model.checkpoint_activations"},
    {"r", "model.lora.rank"},
    {"lora_r", "model.lora.rank"},
    {"lora_rank", "model.lora.rank"},
    {"lora_alpha", "model.lora.alpha"},
    {"lora_dropout", "model.lora.dropout"},
    {"target_modules", "model.lora.targets"},
    {"modules_to_save", "model.lora.trained"},
    {"rope_theta", "model.position.rope_theta"},
    {"hidden_act", "model.activation"},
    {"activation_function", "model.activation"},
    {"rms_norm_eps", "model.norm.eps"},
    {"layer_norm_eps", "model.norm.eps"},
    {"layer_norm_epsilon", "model.norm.eps"},
    {"resid_pdrop", "model.dropout"},
    {"attn_pdrop", "model.dropout"},
    {"embd_pdrop", "model.dropout"},
    {"attention_dropout", "model.dropout"},
    {"torch_dtype", "precision.compute"},
    {"amp", "precision.compute", ", as in \"bf16\""},
    {"n_inner", "model.feed_forward_size"},
    {"use_bias", "model.bias"},
    {"initializer_range", "model.initialization.std"},
    {"weight_tying", "model.tie_embeddings"},
    {"local_batch_size", "batch.micro_batch", kMicro},
    {"log_freq", "metrics.every"},
    {"load_best_model_at_end", "checkpoint.keep_best"},
    {"decay_lr", "schedule.type", ", as in \"constant\""},
    {"dtype", "precision.compute"},
    {"fp16", "precision.compute", ", as in \"fp16\""},
    {"bf16", "precision.compute", ", as in \"bf16\""},
    {"max_new_tokens", "evaluation.sample.tokens"},
    {"max_tokens", "evaluation.sample.tokens"},
    {"num_tokens", "evaluation.sample.tokens"},
    {"num_return_sequences", "evaluation.sample.samples"},
    {"num_samples", "evaluation.sample.samples"},
    {"mixed_precision", "precision.compute"},
    {"accelerator", "run.device", ", as in \"cuda\""},
    {"gpus", "parallelism.world_size", kRanks},
    {"num_gpus", "parallelism.world_size", kRanks},
    {"devices", "parallelism.world_size", kRanks},
    {"nproc_per_node", "parallelism.world_size", kRanks},
    {"fsdp", "", kDataParallel},
    {"fsdp_config", "", kDataParallel},
    {"deepspeed", "", kDataParallel},
    {"data_parallel_shard_degree", "", kDataParallel},
    {"tensor_parallel_degree", "", kDataParallel},
    {"pipeline_parallel_degree", "", kDataParallel},
    {"model_name_or_path", "model.init_from"},
    {"pretrained", "model.init_from"},
    {"pretrained_model_name_or_path", "model.init_from"},
    {"random_seed", "run.seed"},
    {"ema_decay", "run.ema"},
};

}  // namespace

const KeySynonym* key_synonym(std::string_view word) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const auto& k) { return k.word == word; });
  return found == std::end(kKeys) ? nullptr : found;
}

}  // namespace exprun
