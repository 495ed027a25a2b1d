# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF file with the weights of another one in another type.

    requantise.py SOURCE.gguf F16|Q8_0|Q4_1|Q4_0|... -o TARGET.gguf

Every matrix that SOURCE stores below 16 bits is dequantised and quantised again; vectors keep their type, and so do
matrices whose type in SOURCE has 8 bits or more (token embeddings, as llama.cpp does), except for F16. What SOURCE has
already lost is not restored: F16 means its dequantised weights. Needs gguf and NumPy.
"""

import argparse
import os
import pathlib

import numpy
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize, quantize

EIGHT_BITS = ("Q8_0", "F16", "BF16", "F32")


def copy_metadata(reader, writer):
    """Copies every key, except for those that the writer sets itself."""
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)


def converted(tensor, wanted):
    """Returns the bytes of a tensor and their type."""
    stored = tensor.tensor_type.name
    values = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
    if len(tensor.shape) == 1 or stored == wanted or (stored in EIGHT_BITS and wanted != "F16"):
        return tensor.data, tensor.tensor_type
    kind = GGMLQuantizationType[wanted]
    return (values.astype(numpy.float16) if wanted == "F16" else quantize(values, kind)), kind


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("type")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    part = arguments.output.with_suffix(".part")
    reader = GGUFReader(arguments.source)
    writer = GGUFWriter(part, reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    error = norm = 0.0
    for tensor in reader.tensors:
        data, kind = converted(tensor, arguments.type)
        before = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float64)
        error += ((dequantize(data, kind).astype(numpy.float64) - before) ** 2).sum()
        norm += (before**2).sum()
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, arguments.output)
    size, change = arguments.output.stat().st_size, (error / norm) ** 0.5
    print(f"{arguments.type}: {size} bytes, relative change of the weights {change:.2e}")


if __name__ == "__main__":
    main()
