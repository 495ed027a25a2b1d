// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/explanations.h"

#include <QDialog>
#include <QFileInfo>
#include <QHash>
#include <QKeySequence>
#include <QLabel>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "explorer/window/start_page.h"

namespace lime::explorer {
namespace {

constexpr int kWidth = 420;

const QHash<QString, Explanation>& explanations() {
  static const QHash<QString, Explanation> all = {
      {u"router"_s,
       {u"Each cell is the fraction of a layer's router weight on one buffered layer: the keys and "
        u"values that this or an earlier layer computed. Buffered layer 0 is projected from the "
        u"embeddings, and a router without preferences gives each of the n layers that it can read "
        u"1/n."_s,
        u"M<sub>l,l'</sub> = &Sigma;<sub>h,h'</sub> |R<sub>l</sub>[h, (l', h')]| / its sum over l'"_s,
        u"|R| is not scale-invariant: multiplying W<sub>K</sub> and W<sub>V</sub> of a buffered "
        u"head by c and dividing its router columns by c changes the map but not the model. Maps "
        u"weighted by the size of keys or values are invariant."_s,
        u"router.md"_s, u"The maps"_s}},
      {u"collapse"_s,
       {u"The matrix-based entropy of a sequence is near 0 if all its tokens lie on one line, and "
        u"reaches the ceiling if they spread evenly over all directions. Bands are 95% bootstrap "
        u"intervals over sequences."_s,
        u"K = Z Z<sup>T</sup> / tr(Z Z<sup>T</sup>), "
        u"S<sub>&alpha;</sub> = log(&Sigma;<sub>i</sub> &lambda;<sub>i</sub>(K)<sup>&alpha;</sup>) "
        u"/ (1 &minus; &alpha;)"_s,
        u"Entropies of different texts, presets or orders are not comparable. A lower entropy need "
        u"not lose information: probe the same layer."_s,
        u"collapse.md"_s,
        {}}},
      {u"embeddings"_s,
       {u"Each point is a token of one layer; t-SNE places tokens with similar representations "
        u"close "
        u"to each other. Each layer is rotated and scaled to match the previous one."_s,
        u"minimise KL(P || Q), q<sub>ij</sub> &prop; (1 + |y<sub>i</sub> &minus; "
        u"y<sub>j</sub>|<sup>2</sup>)<sup>&minus;1</sup>"_s,
        u"Sizes of clusters and distances between them have no meaning, and another perplexity or "
        u"seed gives another plot."_s,
        u"tsne.md"_s,
        {}}},
      {u"probes"_s,
       {u"A linear classifier is trained on the representations of each layer and tested on the "
        u"fold "
        u"that it did not see. Accuracy above the baseline shows that the property is linearly "
        u"decodable in that layer."_s,
        u"p(c | x) = softmax(W x + b)<sub>c</sub>"_s,
        u"Decodable does not mean used: the model may ignore what a probe finds. Compare with "
        u"control labels."_s,
        u"separability.md"_s,
        {}}},
      {u"text"_s,
       {u"Colours show one value per token and layer, such as the drop in the sequence's entropy "
        u"if "
        u"the token is removed. The attention tab shows which keys a head reads, and from which "
        u"buffered layer."_s,
        u"contribution of token t = S(Z) &minus; S(Z without row t)"_s,
        u"Attention weights show what is mixed, not what changes the prediction."_s,
        u"attention.md"_s,
        {}}},
      {u"interventions"_s,
       {u"The text is predicted twice, by the original model and with edited routers. A route "
        u"whose "
        u"removal leaves the loss unchanged is not needed for this text."_s,
        u"&Delta; loss = mean over t of log p(x<sub>t</sub> | x<sub>&lt;t</sub>) &minus; "
        u"log p<sub>edited</sub>(x<sub>t</sub> | x<sub>&lt;t</sub>)"_s,
        u"Other routes may compensate for a removed one, so effects of several edits need not add "
        u"up."_s,
        u"explorer.md"_s, u"Interventions"_s}},
      {u"results"_s,
       {u"Each figure is drawn by a recipe of lime-figure from the open results of one metric. The "
        u"note below it states what bands, error bars and stars are."_s,
        u"difference = model &minus; baseline, paired by sequence, fold or pair"_s,
        u"Results of different texts are not comparable. With many sequences small differences "
        u"have "
        u"stars: judge a difference by its size."_s,
        u"figures.md"_s,
        {}}}};
  return all;
}

}  // namespace

const Explanation& explanationOf(const QString& id) {
  static const Explanation none;
  const auto found = explanations().find(id);
  return found == explanations().end() ? none : *found;
}

void showPage(const QString& path, const QString& heading, QWidget* parent) {
  auto* const dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QFileInfo(path).fileName());
  auto* const browser = new QTextBrowser;
  browser->setAccessibleName(u"manual"_s);
  browser->setSource(QUrl::fromLocalFile(path));
  if (!heading.isEmpty()) browser->find(heading, QTextDocument::FindCaseSensitively);
  (new QVBoxLayout(dialog))->addWidget(browser);
  dialog->resize(760, 640);
  dialog->show();
}

QString manualPage(const QString& page) {
  const QString installed = findAbove(u"share/doc/lime/docs/"_s + page);
  return installed.isEmpty() ? findAbove(u"docs/"_s + page) : installed;
}

ExplainButton::ExplainButton(QWidget& parent) : QToolButton(&parent) {
  hide();
  setText(u"?"_s);
  setAutoRaise(true);
  setShortcut(QKeySequence::WhatsThis);
  setToolTip(u"What this view shows, and what to keep in mind (%1)"_s.arg(
      shortcut().toString(QKeySequence::NativeText)));
  setAccessibleName(u"explain this view"_s);
  connect(this, &QToolButton::clicked, this, &ExplainButton::explain);
}

void ExplainButton::setView(const QString& id) {
  view_ = id;
  setVisible(!id.isEmpty());
  place();
}

void ExplainButton::place() {
  resize(26, 26);
  move(parentWidget()->width() - width() - 6, 9);
  raise();
}

void ExplainButton::explain() {
  const Explanation& explanation = explanationOf(view_);
  const QString path = manualPage(explanation.page);
  const QString link = path.isEmpty() ? u"docs/%1"_s.arg(explanation.page)
                                      : u"<a href='#'>docs/%1</a>"_s.arg(explanation.page);
  auto* const popup = new QFrame(this, Qt::Popup);
  popup->setAttribute(Qt::WA_DeleteOnClose);
  popup->setFrameShape(QFrame::StyledPanel);
  auto* const label = new QLabel(u"<p>%1</p><p><i>%2</i></p><p>%3</p><p>%4</p>"_s.arg(
      explanation.text, explanation.formula, explanation.caveat, link));
  label->setWordWrap(true);
  label->setFixedWidth(kWidth);
  label->setAccessibleName(u"explanation"_s);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(label, &QLabel::linkActivated, this, [this, popup, path, explanation] {
    popup->close();
    showPage(path, explanation.heading, window());
  });
  (new QVBoxLayout(popup))->addWidget(label);
  popup->adjustSize();
  popup->move(mapToGlobal(QPoint(width() - popup->width(), height())));
  popup->show();
  label->setFocus();
}

}  // namespace lime::explorer
