// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/manual_page.h"

#include <QDialog>
#include <QFileInfo>
#include <QImage>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/window/questions.h"

namespace lime::explorer {
namespace {

/// A page of the manual, whose images are no wider than its window.
class ManualBrowser : public QTextBrowser {
 public:
  QVariant loadResource(int type, const QUrl& name) override {
    const QVariant resource = QTextBrowser::loadResource(type, name);
    if (type != QTextDocument::ImageResource) return resource;
    QImage image = resource.value<QImage>();
    if (image.isNull()) image.loadFromData(resource.toByteArray());
    const int most = std::max(100, viewport()->width() - kManualMargin);
    if (image.isNull() || image.width() <= most) return resource;
    return image.scaledToWidth(most, Qt::SmoothTransformation);
  }

 private:
  static constexpr int kManualMargin = 24;  // of the page, both sides
};

}  // namespace

void showPage(const QString& path, const QString& heading, QWidget* parent) {
  auto* const dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QFileInfo(path).fileName());
  dialog->resize(760, 640);
  auto* const browser = new ManualBrowser;
  browser->resize(dialog->size());  // images fit before it is laid out
  browser->setAccessibleName(u"manual"_s);
  browser->setSource(QUrl::fromLocalFile(path));
  if (!heading.isEmpty()) browser->find(heading, QTextDocument::FindCaseSensitively);
  (new QVBoxLayout(dialog))->addWidget(browser);
  dialog->show();
}

QString manualPage(const QString& page) {
  const QString installed = findAbove(u"share/doc/lime/docs/"_s + page);
  return installed.isEmpty() ? findAbove(u"docs/"_s + page) : installed;
}

}  // namespace lime::explorer
