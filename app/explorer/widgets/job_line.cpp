// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/job_line.h"

#include <utility>

namespace lime::explorer {
namespace {

constexpr int kHeight = 4;
constexpr int kSteps = 1000;

}  // namespace

JobLine::JobLine(JobRunner& jobs, QString key_prefix)
    : jobs_(jobs), key_prefix_(std::move(key_prefix)) {
  setTextVisible(false);
  setFixedHeight(kHeight);
  setAccessibleName(u"progress of what is shown below"_s);
  QSizePolicy policy = sizePolicy();
  policy.setRetainSizeWhenHidden(true);  // the figure below keeps its place
  setSizePolicy(policy);
  connect(&jobs, &JobRunner::jobAdded, this, &JobLine::showProgress);
  connect(&jobs, &JobRunner::jobChanged, this, &JobLine::showProgress);
  connect(&jobs, &JobRunner::jobRemoved, this, &JobLine::showProgress);
  hide();
}

void JobLine::showProgress() {
  int running = 0;
  double done = 0.0;
  for (const JobInfo& job : jobs_.jobs()) {
    if (!job.spec.is_shown || !job.spec.key.startsWith(key_prefix_)) continue;
    ++running;
    done += job.share().value_or(0.0);
  }
  setVisible(running > 0);
  if (running == 0) return;
  setRange(0, done > 0.0 ? kSteps : 0);  // busy until something is known
  setValue(static_cast<int>(done / running * kSteps));
}

}  // namespace lime::explorer
