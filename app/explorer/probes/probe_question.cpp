// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_question.h"

#include "explorer/models/capture_contents.h"
#include "store/capture_reader.h"

namespace lime::explorer {

std::string metricOf(ProbeQuestion question) {
  return question == ProbeQuestion::kSeparability ? "separability" : "blimp";
}

bool canProbe(const CaptureReader& capture, ProbeQuestion question) {
  const CaptureInfo& info = capture.info();
  const bool is_labelled = question == ProbeQuestion::kSeparability ? !info.class_names.empty()
                                                                    : !info.task_names.empty();
  return is_labelled && !representationsOf(capture).empty();
}

}  // namespace lime::explorer
