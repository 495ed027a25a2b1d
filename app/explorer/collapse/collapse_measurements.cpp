// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/collapse_measurements.h"

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/series/series_inputs.h"
#include "explorer/models/capture_contents.h"
#include "explorer/models/document.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/unhashed.h"

namespace lime::explorer {
namespace {

Analysis prepared(CollapseMeasurements::Kind kind, const CaptureSetOptions& set,
                  std::int64_t max_sequences, const RunOptions& run) {
  const auto limited = [&](auto options) {
    options.captures = set;
    if (max_sequences > 0) options.captures.max_sequences = max_sequences;
    return options;
  };
  if (kind == CollapseMeasurements::Kind::kEntropy) {
    return prepare_entropy(limited(EntropyAnalysisOptions()), run);
  }
  auto options = limited(GeometryAnalysisOptions());
  options.measure = {GeometryGroup::kRank, GeometryGroup::kSimilarity, GeometryGroup::kCurvature};
  return prepare_geometry(options, run);
}

constexpr std::int64_t kFirstSequences = 2;  // that are shown while the others are measured
constexpr int kFirstLayers = 7;              // of one sequence, shown before those
constexpr std::string_view kRandomBox = "tick \"Compare with random weights\"";
constexpr std::int64_t kExtremes = 8;  // sequences at each end of a layer's entropies

const QString kNeedsTwo = u"A difference needs two captures: open or tick another one."_s;

bool hasRows(const Results& results, const std::string& site) {
  return std::any_of(results.rows.begin(), results.rows.end(),
                     [&](const ResultRow& row) { return row.text(col::kSite) == site; });
}

/// Returns some of the layers, evenly spaced, the first and the last one among them.
std::vector<int> someLayers(const std::vector<int>& layers) {
  std::vector<int> some;
  const auto last = static_cast<double>(layers.size() - 1);
  for (int i = 0; i < kFirstLayers; ++i) {
    some.push_back(layers[static_cast<std::size_t>(std::lround(last * i / (kFirstLayers - 1)))]);
  }
  return some;
}

Curve spectrumCurve(const std::string& label, const std::vector<double>& fractions,
                    LinePattern pattern = LinePattern::kSolid) {
  Curve curve;
  curve.label = label;
  for (std::size_t i = 0; i < fractions.size(); ++i) {
    curve.x.push_back(static_cast<double>(i + 1));
    curve.y.push_back(fractions[i]);
  }
  curve.style = {.pattern = pattern, .marker = MarkerShape::kNone};
  return curve;
}

}  // namespace

CollapseMeasurements::CollapseMeasurements(Workspace& workspace, JobRunner& jobs,
                                           const Preferences& preferences)
    : workspace_(workspace),
      preferences_(preferences),
      curves_(jobs),
      layers_(jobs),
      verdicts_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &CollapseMeasurements::dropClosed);
  connect(&workspace, &Workspace::documentChanged, this, &CollapseMeasurements::dropClosed);
  connect(&curves_, &JobCacheSignals::changed, this, &CollapseMeasurements::curvesChanged);
  connect(&layers_, &JobCacheSignals::changed, this, &CollapseMeasurements::layerChanged);
  connect(&verdicts_, &JobCacheSignals::changed, this, &CollapseMeasurements::verdictsChanged);
}

std::vector<const Document*> CollapseMeasurements::captures() const {
  const std::vector<const Document*> all = workspace_.documentsOf(DocumentKind::kCapture);
  std::vector<const Document*> whole;
  std::ranges::copy_if(all, std::back_inserter(whole), [](const Document* document) {
    return hasWholeSequences(*document->capture);
  });
  return whole.empty() ? all : whole;
}

void CollapseMeasurements::setMaxSequences(std::int64_t count) {
  max_sequences_ = count;
  curves_.dropIf([count](const CurveKey& key) { return key.max_sequences != count; });
  layers_.dropIf([count](const LayerKey& key) { return key.max_sequences != count; });
  verdicts_.dropIf([count](const VerdictKey& key) { return key.max_sequences != count; });
}

void CollapseMeasurements::measure(Kind kind, bool compares, const std::string& site) {
  const std::vector<const Document*> documents = captures();
  if (compares) {
    if (documents.size() > 1) request(documents, kind, site);
    return;
  }
  for (const Document* const document : documents) request({document}, kind, site);
}

void CollapseMeasurements::request(const std::vector<const Document*>& documents, Kind kind,
                                   const std::string& site) {
  const QString name = kind == Kind::kEntropy ? u"Entropy"_s : u"Rank, similarity and curvature"_s;
  RunOptions run;
  run.threads = preferences_.threads;
  CurveKey key{.captures = {}, .kind = kind, .max_sequences = max_sequences_};
  CaptureSetOptions set;
  set.notes_massive_rows = false;
  set.captures.clear();  // of the default
  QStringList labels;
  for (const Document* const document : documents) {
    key.captures.push_back(document->capture);
    set.captures.push_back(document->path);
    labels << workspace_.uniqueLabel(*document);
    set.label.push_back(labels.back().toStdString());
  }
  const auto pairs = documents.size() > 1 ? ComparePairs::kFirst : ComparePairs::kNone;
  const QString title = u"%1 of %2"_s.arg(name, labels.join(u", "_s));
  const bool has_preview = documents.size() == 1 &&
                           documents.front()->capture->num_sequences() > kFirstSequences &&
                           contains(representationsOf(*documents.front()->capture), site);
  const std::vector<int> layers =
      has_preview ? documents.front()->capture->layers(site) : std::vector<int>();
  curves_.requestInParts(
      key, {.title = title, .key = u"collapse/curves/"_s + title, .lane = JobLane::kLong},
      [kind, set, most = max_sequences_, run, pairs, site, has_preview, layers](
          const JobContext& context, const auto& publish) {
        if (has_preview) {
          const auto show = [&](const CaptureSetOptions& first, std::int64_t count) {
            publish(compute(unhashed(prepared(kind, first, count, run)), run, {}, context.stop));
          };
          CaptureSetOptions first = set;
          first.site = {site};
          if (layers.size() > 2 * kFirstLayers) {
            CaptureSetOptions rough = first;
            rough.layer = LayerSelection::parse(layers_to_string(someLayers(layers)));
            show(rough, 1);
          }
          show(first, kFirstSequences);
        }
        Analysis analysis = prepared(kind, set, most, run);
        analysis.compare.compare = pairs;
        return compute(unhashed(std::move(analysis)), run, context.on_progress, context.stop);
      });
}

std::vector<double> CollapseMeasurements::measuredEntropies(const LayerKey& key,
                                                            const RunOptions& run,
                                                            const JobContext& context) {
  CaptureSetOptions set;
  set.notes_massive_rows = false;
  set.captures = {key.capture->path()};
  set.site = {key.site};
  set.layer = LayerSelection::parse(std::to_string(key.layer));
  const Analysis analysis = unhashed(prepared(Kind::kEntropy, set, key.max_sequences, run));
  return entropies_of_layer(compute(analysis, run, context.on_progress, context.stop), key.site,
                            key.layer);
}

CollapseMeasurements::LayerKey CollapseMeasurements::layerKey(const Document& document) const {
  return {document.capture, site_, layer_.value_or(-1), max_sequences_};
}

void CollapseMeasurements::measureLayer(const std::string& site, std::optional<int> layer) {
  site_ = site;
  layer_ = layer;
  layers_.dropIf(
      [&](const LayerKey& key) { return key.site != site || std::optional(key.layer) != layer; });
  if (!layer) return;
  RunOptions run;
  run.threads = preferences_.threads;
  for (const Document* const document : captures()) {
    if (!document->capture->has(site, *layer)) continue;
    const LayerKey key = layerKey(*document);
    const Answer<AnalysisResult>& answer = curves(*document, Kind::kEntropy);
    const std::optional<AnalysisResult> known =
        answer.job == 0 ? answer.result : std::optional<AnalysisResult>();
    layers_.request(key,
                    {.title = u"Spectrum of layer %1 of %2"_s.arg(*layer + preferences_.layer_base)
                                  .arg(workspace_.uniqueLabel(*document)),
                     .key = u"collapse/layer/%1"_s.arg(document->id),
                     .lane = JobLane::kLong},
                    [key, run,
                     entropies = known ? entropies_of_layer(*known, site, *layer)
                                       : std::vector<double>()](const JobContext& context) mutable {
                      if (entropies.empty()) entropies = measuredEntropies(key, run, context);
                      return layer_spectra(*key.capture, key.site, key.layer, entropies, kExtremes,
                                           context.on_progress, context.stop);
                    });
  }
}

void CollapseMeasurements::measureVerdicts(const std::string& site, bool against_random) {
  verdict_site_ = site;
  against_random_ = against_random;
  RunOptions run;
  run.threads = preferences_.threads;
  CollapseAnalysisOptions options;
  options.captures.site = {site};
  if (max_sequences_ > 0) options.captures.max_sequences = max_sequences_;
  const std::vector<std::filesystem::path> checkpoints = workspace_.openInputs().checkpoints;
  for (const Document* const document : captures()) {
    if (!document->capture->has(site)) continue;
    const QString label = workspace_.uniqueLabel(*document);
    options.captures.captures = {document->path};
    options.captures.label = {label.toStdString()};
    verdicts_.request(
        {document->capture, site, max_sequences_, against_random},
        {.title = (against_random ? u"Causes of collapse in %1 of %2, and with random weights"_s
                                  : u"Causes of collapse in %1 of %2"_s)
                      .arg(toQString(site), label),
         .key = u"collapse/verdict/%1/%2"_s.arg(toQString(site)).arg(document->id),
         .lane = JobLane::kLong},
        [options, run, checkpoints, against_random,
         capture = document->capture](const JobContext& context) {
          CollapseAnalysisOptions own = options;
          own.checkpoint = findTokenizer(*capture, checkpoints).folder;
          own.against_random = against_random;
          throw_if(against_random && own.checkpoint.empty(),
                   "random weights need the config of the checkpoint that was captured; open it");
          return compute_collapse(own, run, context.on_progress, context.stop, kRandomBox);
        });
  }
}

void CollapseMeasurements::recompute() {
  curves_.clear();
  layers_.clear();
  verdicts_.clear();
}

void CollapseMeasurements::dropClosed() {
  const auto is_closed = [this](const Capture& capture) { return !workspace_.isOpen(capture); };
  curves_.dropIf([&](const CurveKey& key) { return std::ranges::any_of(key.captures, is_closed); });
  layers_.dropIf([&](const LayerKey& key) { return is_closed(key.capture); });
  verdicts_.dropIf([&](const VerdictKey& key) { return is_closed(key.capture); });
}

const Answer<AnalysisResult>& CollapseMeasurements::curves(const Document& document,
                                                           Kind kind) const {
  return curves_.at({{document.capture}, kind, max_sequences_});
}

const Answer<AnalysisResult>& CollapseMeasurements::differences(Kind kind) const {
  CurveKey key{.captures = {}, .kind = kind, .max_sequences = max_sequences_};
  for (const Document* const document : captures()) key.captures.push_back(document->capture);
  return curves_.at(key);
}

const Answer<LayerSpectra>& CollapseMeasurements::layerOf(const Document& document) const {
  return layers_.at(layerKey(document));
}

const Answer<CollapseVerdicts>& CollapseMeasurements::verdictsOf(const Document& document) const {
  const auto at = [&](bool against_random) -> const Answer<CollapseVerdicts>& {
    return verdicts_.at({document.capture, verdict_site_, max_sequences_, against_random});
  };
  const bool is_waiting = against_random_ && at(true).job != 0 && at(false).result;
  return at(against_random_ && !is_waiting);
}

bool CollapseMeasurements::isMeasuring(Kind kind) const {
  return curves_.isBusy([kind](const CurveKey& key) { return key.kind == kind; });
}

const std::vector<CollapseMeasure>& collapseMeasures() {
  static const std::vector<CollapseMeasure> measures = {
      {"entropy", "Entropy",
       "Matrix-based Renyi entropy of order 1/2, standardised as in the LIMe code (Sanchez Giraldo "
       "et "
       "al. 2015). Low: the tokens span few directions"},
      {"effective_rank", "Effective rank",
       "exp of the entropy of the singular values (Roy & Vetterli 2007)"},
      {"participation_ratio", "Participation ratio",
       "(sum of eigenvalues)^2 / sum of their squares (Gao et al. 2017)"},
      {"anisotropy", "Anisotropy", "Mean cosine of two rows (Ethayarajh 2019)"},
      {"sequence_cosine", "Cosine within sequences", "Mean cosine of two tokens of a sequence"},
      {"rank_one_residual", "Rank-one residual",
       "Relative norm of a sequence without its mean token (Dong et al. 2021)"},
      {"curvature", "Curvature", "Mean angle between steps from token to token, degrees"}};
  return measures;
}

CollapseMeasurements::Kind kindOf(const std::string& measure) {
  return measure == "entropy" ? CollapseMeasurements::Kind::kEntropy
                              : CollapseMeasurements::Kind::kGeometry;
}

std::vector<const Document*> drawnCaptures(const CollapseMeasurements& measurements,
                                           const std::string& site,
                                           CollapseMeasurements::Kind kind) {
  std::vector<const Document*> drawn = measurements.captures();
  std::erase_if(drawn, [&](const Document* document) {
    const Answer<AnalysisResult>& answer = measurements.curves(*document, kind);
    return !answer.result || !hasRows(answer.result->results, site);
  });
  return drawn;
}

FigureOrMessage collapseCurves(const CollapseMeasurements& measurements, const Workspace& workspace,
                               const std::string& site, const std::string& measure, bool compares,
                               int layer_base) {
  const CollapseMeasurements::Kind kind = kindOf(measure);
  std::vector<FigureSource> sources;
  FigureOptions options;
  if (compares) {
    if (measurements.captures().size() < 2) return {.message = kNeedsTwo};
    const Answer<AnalysisResult>& answer = measurements.differences(kind);
    if (!answer.problem.isEmpty()) return {.message = answer.problem};
    if (answer.result)
      sources.push_back({measurements.captures().front()->path, answer.result->table()});
    options.kind = "comparison";
  } else {
    for (const Document* const document : drawnCaptures(measurements, site, kind)) {
      sources.push_back({document->path, measurements.curves(*document, kind).result->table()});
    }
  }
  options.site = {site};
  options.layer_base = layer_base;
  options.mixed_texts = true;
  if (kind == CollapseMeasurements::Kind::kGeometry) options.measure = {measure};
  FigureOrMessage figure_or_message = figureOrMessage(sources, options);
  if (figure_or_message.figure) {
    figure_or_message.colours = colourModels(figure_or_message.figure->panels, workspace);
  }
  return figure_or_message;
}

void emphasiseStep(Figure& figure, std::int64_t step) {
  for (FigurePanel& panel : figure.panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      const std::optional<ModelStep> subject = split_step(curve.label);
      if (!subject || subject->step == step) continue;
      curve.style.colour = kMutedColour;
      curve.style.is_faint = true;
      curve.style.marker = MarkerShape::kNone;
      curve.spread = Curve::Spread::kNone;
    }
  }
}

QString collapseObstacle(const CollapseMeasurements& measurements, const Document& capture,
                         CollapseMeasurements::Kind kind) {
  const std::vector<const Document*> measured = measurements.captures();
  if (std::ranges::find(measured, capture.id, &Document::id) == measured.end()) {
    return u"it does not contain every token of a sequence"_s;
  }
  const QString& problem = measurements.curves(capture, kind).problem;
  // The reader knows the file.
  const QString path = u"'%1': "_s.arg(toQString(capture.path));
  return problem.startsWith(path) ? problem.mid(path.size()) : problem;
}

QStringList collapseProblems(const CollapseMeasurements& measurements, const Workspace& workspace,
                             CollapseMeasurements::Kind kind) {
  QStringList lines;
  const Document* first = nullptr;
  for (const Document* const document : measurements.captures()) {
    if (!collapseObstacle(measurements, *document, kind).isEmpty()) continue;
    const std::int64_t all = document->capture->num_sequences();
    const std::int64_t most = measurements.maxSequences();
    const std::int64_t skipped =
        num_short_sequences(*document->capture, most > 0 ? std::min(all, most) : all);
    if (skipped > 0) {
      lines << u"%1: skipped %2 of fewer than two tokens"_s.arg(
          workspace.uniqueLabel(*document),
          skipped == 1 ? u"1 sequence"_s : u"%1 sequences"_s.arg(skipped));
    }
    const std::string& text = document->capture->info().input_sha256;
    if (!text.empty() && first == nullptr) first = document;
    if (!text.empty() && text != first->capture->info().input_sha256) {
      lines << u"%1 and %2 were captured from different texts: their curves are not comparable"_s
                   .arg(workspace.uniqueLabel(*first), workspace.uniqueLabel(*document));
    }
  }
  return lines;
}

std::optional<FigurePanel> spectrumPanel(const CollapseMeasurements& measurements,
                                         const Workspace& workspace,
                                         const std::optional<Extreme>& extreme) {
  CurvePanel panel;
  for (const Document* const document : measurements.captures()) {
    const Answer<LayerSpectra>& answer = measurements.layerOf(*document);
    if (!answer.result) continue;
    const LayerSpectra& layer = *answer.result;
    const std::string label = workspace.uniqueLabel(*document).toStdString();
    panel.curves.push_back(spectrumCurve(label, layer.spectrum));
    if (!extreme || extreme->document != document->id) continue;
    for (const SequenceSpectrum& sequence_spectrum :
         extreme->is_lowest ? layer.lowest : layer.highest) {
      if (sequence_spectrum.sequence != extreme->sequence) continue;
      panel.curves.push_back(
          spectrumCurve(label + ", sequence " + std::to_string(sequence_spectrum.sequence),
                        sequence_spectrum.spectrum, LinePattern::kDotted));
    }
  }
  if (panel.curves.empty()) return std::nullopt;
  FigurePanel shown{.title = {},
                    .x = {.label = "eigenvalue", .logarithmic = true},
                    .y = {.label = "fraction of variance", .logarithmic = true},
                    .content = std::move(panel)};
  colourModels(std::span(&shown, 1), workspace);
  return shown;
}

}  // namespace lime::explorer
