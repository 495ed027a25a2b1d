// SPDX-License-Identifier: Apache-2.0

// A module of device_abi with a reference implementation on the CPU, for testing the GPU code
// without a GPU. Environment variables configure it:
//
//   LIME_FAKE_GPU_COUNT    number of GPUs; 1 if not set
//   LIME_FAKE_GPU_FREE     bytes of free memory; 1 GiB if not set
//   LIME_FAKE_GPU_VERSION  of the interface
//   LIME_FAKE_GPU_FAULT    count, compute, third-compute, or eigenvalues (wrong values)
//   LIME_FAKE_GPU_LOG      file to which a line is appended for each batch

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "metrics/device/module_abi.h"

namespace lime::device_abi {

/// Rows are copied when they are computed, as late as the interface allows.
struct Workspace {
  struct Slot {
    std::vector<float> rows;
    std::int64_t num_rows = 0;
    std::int64_t num_cols = 0;
    bool uploaded = false;
    std::vector<double> shift, column_scale, row_scale;
  };

  Plan plan;
  std::vector<Slot> slots;
  std::vector<Eigen::VectorXd> eigenvalues;
};

namespace {

thread_local std::string error_line;

std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::int64_t number(const char* name, std::int64_t otherwise) {
  const std::string text = setting(name, "");
  return text.empty() ? otherwise : std::atoll(text.c_str());
}

bool has_fault(const std::string& fault) { return setting("LIME_FAKE_GPU_FAULT", "") == fault; }

Status fail(const std::string& line) {
  error_line = line;
  return kFailed;
}

const char* last_error() { return error_line.c_str(); }

Status count_devices(std::int32_t* count) {
  if (has_fault("count")) return fail("cudaGetDeviceCount: the driver is asleep");
  *count = static_cast<std::int32_t>(number("LIME_FAKE_GPU_COUNT", 1));
  return kOk;
}

Status describe_device(std::int32_t, DeviceInfo* info) {
  *info = {};
  std::strcpy(info->name, "fake GPU");
  info->free_bytes = number("LIME_FAKE_GPU_FREE", std::int64_t{1} << 30);
  info->total_bytes = info->free_bytes;
  return kOk;
}

Status make_workspace(const Plan* plan, Workspace** workspace, std::int64_t* needed_bytes) {
  const std::int64_t rows = 2 * plan->max_elements * 4;
  *needed_bytes = plan->batch * (rows + plan->max_size * plan->max_size * 8);
  if (*needed_bytes > number("LIME_FAKE_GPU_FREE", std::int64_t{1} << 30)) {
    error_line = "cudaMalloc: out of memory";
    return kOutOfMemory;
  }
  auto made = std::make_unique<Workspace>();
  made->plan = *plan;
  made->slots.resize(static_cast<std::size_t>(2 * plan->batch));
  for (Workspace::Slot& slot : made->slots) {
    slot.rows.resize(static_cast<std::size_t>(plan->max_elements));
  }
  *workspace = made.release();
  return kOk;
}

void destroy_workspace(Workspace* workspace) { delete workspace; }

float* rows_of(Workspace* workspace, std::int64_t slot) {
  return workspace->slots[static_cast<std::size_t>(slot)].rows.data();
}

std::vector<double> copy_of(const double* values, std::int64_t count, double otherwise) {
  if (values == nullptr) return std::vector<double>(static_cast<std::size_t>(count), otherwise);
  return {values, values + count};
}

Status upload(Workspace* workspace, std::int64_t index, const Rows* rows) {
  const Plan& plan = workspace->plan;
  if (index < 0 || index >= 2 * plan.batch || rows->num_rows > plan.max_rows ||
      rows->num_cols > plan.max_cols || rows->num_rows * rows->num_cols > plan.max_elements ||
      std::min(rows->num_rows, rows->num_cols) > plan.max_size) {
    return fail("upload: the plan has no room");
  }
  Workspace::Slot& slot = workspace->slots[static_cast<std::size_t>(index)];
  if (slot.uploaded) return fail("upload: the slot waits to be computed");
  slot.num_rows = rows->num_rows;
  slot.num_cols = rows->num_cols;
  slot.shift = copy_of(rows->shift, rows->num_cols, 0.0);
  slot.column_scale = copy_of(rows->column_scale, rows->num_cols, 1.0);
  slot.row_scale = copy_of(rows->row_scale, rows->num_rows, 1.0);
  slot.uploaded = true;
  return kOk;
}

Eigen::MatrixXd gram_of(const Workspace::Slot& slot) {
  Eigen::MatrixXd z(slot.num_rows, slot.num_cols);
  for (Eigen::Index r = 0; r < z.rows(); ++r) {
    for (Eigen::Index c = 0; c < z.cols(); ++c) {
      const auto row = static_cast<std::size_t>(r);
      const auto col = static_cast<std::size_t>(c);
      const double x = slot.rows[static_cast<std::size_t>(r * z.cols() + c)];
      z(r, c) = (x - slot.shift[col]) * slot.column_scale[col] * slot.row_scale[row];
    }
  }
  return z.rows() <= z.cols() ? Eigen::MatrixXd(z * z.transpose())
                              : Eigen::MatrixXd(z.transpose() * z);
}

void log_batch(std::int64_t first_slot, std::int64_t count) {
  const std::string path = setting("LIME_FAKE_GPU_LOG", "");
  if (!path.empty()) std::ofstream(path, std::ios::app) << first_slot << ' ' << count << '\n';
}

Status compute(Workspace* workspace, std::int64_t first_slot, std::int64_t count,
               Spectrum* spectra) {
  static int calls = 0;
  if (has_fault("compute") || (has_fault("third-compute") && ++calls == 3)) {
    return fail("cublasDsyrk: an illegal memory access was encountered");
  }
  if (count > workspace->plan.batch) return fail("compute: the batch is too large");
  log_batch(first_slot, count);
  workspace->eigenvalues.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Workspace::Slot& slot = workspace->slots[static_cast<std::size_t>(first_slot + i)];
    if (!slot.uploaded) return fail("compute: the slot is empty");
    slot.uploaded = false;
    Eigen::MatrixXd gram = gram_of(slot);
    if (workspace->plan.clamps != 0) gram = gram.cwiseMax(0.0);
    Eigen::VectorXd& values = workspace->eigenvalues[static_cast<std::size_t>(i)];
    spectra[i] = {.trace = gram.trace(),
                  .squared_norm = gram.squaredNorm(),
                  .eigenvalues = nullptr,
                  .unconverged = 0,
                  .reserved = 0};
    if (workspace->plan.wants_eigenvalues == 0) continue;
    values =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gram, Eigen::EigenvaluesOnly).eigenvalues();
    if (has_fault("eigenvalues")) values[0] += 1e-3 * gram.trace();
    spectra[i].eigenvalues = values.data();
  }
  return kOk;
}

}  // namespace
}  // namespace lime::device_abi

extern "C" [[gnu::visibility("default")]] const lime::device_abi::Module* lime_device_module() {
  using namespace lime::device_abi;
  static Module module{.version = kVersion,
                       .reserved = 0,
                       .last_error = last_error,
                       .count_devices = count_devices,
                       .describe_device = describe_device,
                       .make_workspace = make_workspace,
                       .destroy_workspace = destroy_workspace,
                       .rows_of = rows_of,
                       .upload = upload,
                       .compute = compute};
  module.version = static_cast<std::int32_t>(number("LIME_FAKE_GPU_VERSION", kVersion));
  return &module;
}
