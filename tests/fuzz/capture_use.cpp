// SPDX-License-Identifier: Apache-2.0
#include "fuzz/capture_use.h"

#include "fuzz/fuzz_target.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"

namespace lime::fuzz {
namespace {

void read_activations(const CaptureReader& reader) {
  for (const std::string& site : reader.sites()) {
    for (const int layer : reader.layers(site)) {
      reads_or_refuses([&] {
        const MatrixF rows = reader.read_all(site, layer);
        require(rows.rows() == reader.num_rows(), "all rows are read");
      });
      reads_or_refuses([&] { reader.read_rows(site, layer, 0, 1); });
      reads_or_refuses([&] { reader.statistics(site, layer); });
      reads_or_refuses([&] { reader.rms_per_head(site, layer); });
      reads_or_refuses([&] { reader.read_sequence(site, layer, reader.num_sequences() - 1); });
    }
  }
}

}  // namespace

void use_capture(const std::filesystem::path& path) {
  reads_or_refuses([&] {
    const CaptureReader reader(path);
    read_activations(reader);
    reads_or_refuses([&] { reader.rows(); });
    reads_or_refuses([&] { reader.sequences(); });
    for (const int layer : reader.router_layers()) {
      reads_or_refuses([&] { reader.router(layer); });
      reads_or_refuses([&] { reader.router_dimensions(layer); });
    }
  });
  reads_or_refuses([&] { summarize_capture(path); });
  reads_or_refuses([&] { verify_capture(path); });
}

}  // namespace lime::fuzz
