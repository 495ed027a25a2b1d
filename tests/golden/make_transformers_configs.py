# SPDX-License-Identifier: Apache-2.0
"""Writes transformers_configs.json: every key that transformers has for each family, with its default.

Run:  python make_transformers_configs.py      (torch, transformers)

`configs` maps a family to its whole config.json, of which save_pretrained() writes a part;
`generation` lists the keys of GenerationConfig, which older versions wrote into config.json too.
"""

import json
import pathlib

import transformers
from transformers import AutoConfig, GenerationConfig

from family_models import BRANCHES


def whole_config(family):
    return json.loads(AutoConfig.for_model(family).to_json_string(use_diff=False))


def main():
    generation = set(GenerationConfig().to_dict()) - {"transformers_version"}
    content = dict(made_by="tests/golden/make_transformers_configs.py",
                   versions=f"transformers {transformers.__version__}",
                   generation=sorted(generation),
                   configs={family: whole_config(family) for family in BRANCHES})
    text = json.dumps(content, separators=(",", ":"))
    pathlib.Path(__file__).with_name("transformers_configs.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
