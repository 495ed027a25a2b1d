# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint folder with the configuration and tokenizer of a model, and random weights.

    random_checkpoint.py MODEL FOLDER [--seed 0]

MODEL is a GGUF file or a Hugging Face folder. lime-metrics collapse --random compares with its capture: what both
show is due to the architecture, not to training. Needs torch, transformers and, for GGUF, gguf.
"""

import argparse
import pathlib

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    source, options = arguments.model, {}
    if source.is_file():
        source, options = source.parent, {"gguf_file": source.name}
    config = AutoConfig.from_pretrained(source, **options)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    torch.manual_seed(arguments.seed)
    AutoModelForCausalLM.from_config(config).save_pretrained(arguments.folder)
    AutoTokenizer.from_pretrained(source, **options).save_pretrained(arguments.folder)


if __name__ == "__main__":
    main()
