"""What transformers itself makes of random weights, and of what exprun exports; run by a Python that has transformers.

usage: transformers_models.py make FOLDER      a folder for each architecture: model/ as save_pretrained writes it, and
                                               batch.safetensors with its logits, loss and gradients, and 20 updates from there
       transformers_models.py compare FOLDER   loads each exported/ beside them, and holds its logits against batch's
"""
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

LLAMA3 = {"rope_type": "llama3", "rope_theta": 1000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
SIZES = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=48,
             intermediate_size=56, pad_token_id=None, bos_token_id=None, eos_token_id=None)
MODELS = {
    "gpt2": lambda t: t.GPT2Config(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=48, bos_token_id=None,
                                   eos_token_id=None),
    "gpt2_untied": lambda t: t.GPT2Config(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=48, n_inner=48,
                                          activation_function="gelu", tie_word_embeddings=False, bos_token_id=None,
                                          eos_token_id=None),
    "llama3": lambda t: t.LlamaConfig(**SIZES, num_key_value_heads=2, rope_parameters=LLAMA3),
    "llama_linear": lambda t: t.LlamaConfig(**SIZES, num_key_value_heads=1, head_dim=12, attention_bias=True,
                                            mlp_bias=True, tie_word_embeddings=True,
                                            rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 1e4}),
    "mistral": lambda t: t.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=5),
    "qwen2": lambda t: t.Qwen2Config(**SIZES, num_key_value_heads=2),
    "qwen3": lambda t: t.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16),
    "olmo2": lambda t: t.Olmo2Config(**SIZES, num_key_value_heads=2),
    "sharded": lambda t: t.Qwen3Config(**SIZES, num_key_value_heads=4, head_dim=8),
    "bf16": lambda t: t.LlamaConfig(**SIZES, num_key_value_heads=2),
}

UPDATES = 20
MAX_GRAD_NORM = 1.0


def train(model, batches):
    """What AdamW makes of it, with decay of all but biases and norms, and with clipping: the loss and the norm of the
    gradients before each update, and the weights after the last. Some first gradients are near 1e-8, where an eps of that
    size would make updates out of their rounding."""
    groups = [{"params": [value for value in model.parameters() if (value.dim() > 1) == matrices], "weight_decay": decay}
              for matrices, decay in ((True, 0.1), (False, 0.0))]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-6)
    losses, norms = [], []
    for tokens in batches:
        optimizer.zero_grad()
        losses.append(model(tokens, labels=tokens).loss)
        losses[-1].backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM))
        optimizer.step()
    assert max(norms) > MAX_GRAD_NORM, "nothing was clipped"
    return {"train_loss": torch.stack(losses).detach(), "train_grad_norm": torch.stack(norms),
            **{f"final/{key}": value.detach() for key, value in model.named_parameters()}}


def make(folder):
    for number, (name, config) in enumerate(MODELS.items()):
        torch.manual_seed(number)
        model = transformers.AutoModelForCausalLM.from_config(config(transformers), attn_implementation="eager").eval()
        with torch.no_grad():  # so that nothing is one or zero that should be a parameter
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
        if name == "bf16":
            model = model.to(torch.bfloat16)
        model.save_pretrained(folder / name / "model", max_shard_size="20KB" if name == "sharded" else "5GB")
        if name == "bf16":  # its positions stay in fp32, as those of a model that is loaded so
            model = transformers.AutoModelForCausalLM.from_pretrained(folder / name / "model", dtype=torch.float32,
                                                                      attn_implementation="eager").eval()
        tokens = torch.randint(0, 61, (3, 24))
        result = model(tokens, labels=tokens)
        result.loss.backward()
        recorded = {f"gradient/{key}": value.grad.clone() for key, value in model.named_parameters()}
        recorded |= {"input_ids": tokens, "logits": result.logits.detach().contiguous(),
                     "loss": result.loss.detach().reshape(1), "train_input_ids": torch.randint(0, 61, (UPDATES, 3, 24))}
        save_file(recorded | train(model, recorded["train_input_ids"]), folder / name / "batch.safetensors")


def compare(folder):
    for name in MODELS:
        batch = load_file(folder / name / "batch.safetensors")
        files = len(list((folder / name / "exported").glob("*.safetensors")))
        assert (files > 2) == (name == "sharded"), f"{name} is in {files} files"
        model, loading = transformers.AutoModelForCausalLM.from_pretrained(
            folder / name / "exported", attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
        odd = {key: list(value) for key, value in loading.items() if value}
        with torch.no_grad():
            off = (model.eval()(batch["input_ids"]).logits - batch["logits"]).abs().max().item()
        print(f"{name}: {type(model).__name__}, logits off by {off:.2g}, {odd}")
        if odd or off > 1e-5 * max(1, batch["logits"].abs().max().item()):
            sys.exit(f"{name}: not the same model")


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](pathlib.Path(sys.argv[2]))
