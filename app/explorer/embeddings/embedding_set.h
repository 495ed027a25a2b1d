// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qrgb.h>

#include <set>

#include "analysis/tsne/embedding_alignment.h"
#include "analysis/tsne/nearest_rows.h"
#include "analysis/tsne/tsne_analysis.h"
#include "explorer/models/document.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/token_rows.h"
#include "store/embeddings_file.h"
#include "viz/figure.h"

namespace lime {
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

struct SelectedToken {
  int point = 0;  ///< of its embedding
  QString token;
  QString note;  ///< class, or distance
  TokenInSentence sentence;
  int sequence = 0;
  int position = 0;
};

/// The embeddings of one capture: its points in each layer, aligned, and their tokens.
struct EmbeddedModel {
  QString label;
  CaptureEmbeddings points;
  std::vector<LayerFault> faults;  ///< layers that diverged
  /// Layers, as (site, layer), that principal components show until t-SNE is done.
  std::set<std::pair<std::string, int>> preliminary;
  std::map<std::int64_t, int> point_of_row;
  std::shared_ptr<const TokenRows> tokens;          ///< of the points: its rows are their numbers
  std::shared_ptr<const SentenceReader> sentences;  ///< null where the capture is missing

  int size() const { return static_cast<int>(points.size()); }
  /// Returns null where the layer has no embedding.
  const MatrixF* coordinates(const std::string& site, int layer) const;
  std::vector<int> pointsOf(const TokenSelection& selected) const;
  /// Returns the points of a token, spaces and capitals ignored.
  std::vector<int> pointsOfToken(const QString& text) const;
  TokenSelection tokensAt(const std::vector<int>& at) const;
  /// Returns the token of a point with its class as the note.
  SelectedToken describe(int point) const;
  /// Returns the `count` points nearest to `point` in the embedding, by their rows.
  std::vector<NearRow> nearestDrawn(const std::string& site, int layer, int point,
                                    std::size_t count) const;
};

/// The t-SNE embeddings of several captures, layer by layer.
struct EmbeddingSet {
  std::vector<EmbeddedModel> models;
  QStringList problems;  ///< captures that are missing

  /// Returns the problems, and the layers that diverged. @param layer_base  of their numbers
  QStringList warnings(int layer_base) const;
  std::vector<std::string> sites() const;
  std::vector<int> layers(const std::string& site) const;
  /// Returns the number of captures of this text.
  std::size_t numOfText(const std::string& text) const;
};

/// The meaning of the colour of a point.
enum class EmbeddingColour { kClass, kToken, kPosition, kSequence };

/// The groups of the points of all models of a set, with the same names in all of them.
struct EmbeddingGroups {
  std::vector<std::string> names;             ///< empty: the colour is a number
  std::vector<std::vector<int>> group;        ///< [model][point], into names
  std::vector<std::vector<double>> fraction;  ///< [model][point], in [0, 1], where names is empty

  std::vector<int> pointsOf(std::size_t model, int group) const;
};

/// Returns the colour that says something of this set: classes if it has some, else positions.
EmbeddingColour usualColour(const EmbeddingSet& set);

/// Groups the points of a set. The most frequent tokens have names, the rest is "other".
EmbeddingGroups groupsOf(const EmbeddingSet& set, EmbeddingColour colour);

/// Returns the colour of a number, 0 for the smallest and 1 for the largest.
QRgb colourOf(double fraction, bool dark);
/// Returns the colour of each point of a model. @param dark  on a dark background
std::vector<QRgb> coloursOf(const EmbeddingGroups& groups, std::size_t model, bool dark);

/// Draws the embeddings of one layer, a panel per model that has it.
Figure embeddingsFigure(const EmbeddingSet& set, const EmbeddingGroups& groups,
                        const std::string& site, int layer, int layer_base);

/// Returns a set of embeddings with the captures that `inputs` name by their labels.
/// @param results  file of the embeddings, which paths of inputs are relative to
EmbeddingSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
                   const std::filesystem::path& results, const OpenInputs& open_inputs);

/// Reads the embeddings beside results of lime-metrics tsne, and opens their captures, in a job.
/// @throws IoError, FormatError
EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs);

}  // namespace lime::explorer
