// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <vector>

namespace lime::explorer {

/// A text as its tokens, each on a ground of its own colour. The arrow keys walk the tokens, a
/// click chooses one.
class TokenText : public QWidget {
  Q_OBJECT

 public:
  struct Token {
    QString text;
    QColor ground;  ///< invalid: none
  };

  explicit TokenText(QWidget* parent = nullptr);

  void setTokens(std::vector<Token> tokens);
  /// -1: none.
  void setCurrent(int token);
  int current() const { return current_; }
  /// Where a token is, in the widget; its first line where it is broken.
  QRect place(int token) const;

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;

 Q_SIGNALS:
  /// -1: none.
  void hovered(int token);
  void chosen(int token);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  /// Places of all tokens in lines of this width. @return the height
  int layOut(int width, std::vector<QRect>* places) const;
  int tokenAt(const QPoint& position) const;
  void say();

  std::vector<Token> tokens_;
  std::vector<QRect> places_;
  int current_ = -1;
  int hovered_ = -1;
};

}  // namespace lime::explorer
