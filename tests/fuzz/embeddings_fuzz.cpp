// SPDX-License-Identifier: Apache-2.0
// Embeddings of `lime-metrics tsne`, unchanged and with repaired checksums: read, written and read
// again.
#include <string>

#include "fuzz/fuzz_target.h"
#include "fuzz/hdf5_checksums.h"
#include "store/embeddings_file.h"

using namespace lime;

namespace {

void use_embeddings(const std::string& file) {
  const auto path = fuzz::scratch_file("embeddings.h5", file);
  fuzz::reads_or_refuses([&] {
    const std::vector<CaptureEmbeddings> captures = read_embeddings(path);
    for (const CaptureEmbeddings& capture : captures) {
      for (const LayerEmbedding& layer : capture.layers) {
        fuzz::require(layer.coordinates.rows() == capture.size(), "every point has coordinates");
        fuzz::require(layer.coordinates.allFinite(), "coordinates are finite");
      }
    }
    const auto again = fuzz::scratch_folder() / "again.h5";
    write_embeddings(again, captures);
    fuzz::require(read_embeddings(again).size() == captures.size(), "captures are kept");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file(fuzz::text_of(data, size));
  use_embeddings(file);
  fuzz::repair_checksums({reinterpret_cast<std::uint8_t*>(file.data()), file.size()});
  if (file != fuzz::text_of(data, size)) use_embeddings(file);
  return 0;
}
