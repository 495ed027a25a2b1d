// SPDX-License-Identifier: Apache-2.0
#include "report_page.h"

#include <fmt/format.h>

#include <QByteArray>
#include <QString>

#include "core/files/sha256.h"
#include "core/program/terminal.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kStyle =
    "body{font:16px/1.45 Arial,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "svg{max-width:100%;height:auto;touch-action:pan-y}svg:focus{outline:2px solid #56b4e9}"
    "table{font-size:13px}td,th{padding:2px 10px;text-align:left}pre{overflow:auto}"
    "figure{margin:2em 0}.bar{display:flex;flex-wrap:wrap;gap:6px}"
    ".bar button{font:13px Arial,sans-serif;padding:2px 10px;border:1px solid #888;"
    "border-radius:4px;background:#fff}.bar button[aria-pressed=false]{opacity:.4}"
    "#tip{position:fixed;pointer-events:none;background:#222;color:#fff;font-size:13px;"
    "padding:3px 8px;border-radius:4px;max-width:28em}#tip:empty{display:none}"
    ".mark{fill:none;stroke:#222;stroke-width:8}";

/// Of every figure: values under the pointer, zoom by buttons and Ctrl with the wheel, moving by
/// drags, and a button per series. All that needs it is made by it, so that a page without scripts
/// has no dead controls.
constexpr const char* kScript = R"js('use strict';
const tip = document.createElement('div');
tip.id = 'tip';
tip.setAttribute('role', 'status');
document.body.append(tip);

function button(bar, text, label, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.setAttribute('aria-label', label);
  made.addEventListener('click', () => act(made));
  bar.append(made);
  return made;
}

function enliven(figure) {
  const svg = figure.querySelector('svg');
  const source = figure.querySelector('script');
  if (!svg || !source) return;
  const data = JSON.parse(source.textContent);
  const box = svg.viewBox.baseVal;
  const home = [box.x, box.y, box.width, box.height];
  let view = home.slice();
  let current = -1;
  const points = data.panels.flatMap(panel => panel.points || []);
  const mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  mark.setAttribute('class', 'mark');
  mark.setAttribute('visibility', 'hidden');
  svg.append(mark);

  const show = next => {
    const width = Math.min(home[2], Math.max(home[2] / 40, next[2]));
    const height = width * home[3] / home[2];
    const inside = (value, low, room) => Math.min(low + room, Math.max(low, value));
    view = [inside(next[0], home[0], home[2] - width), inside(next[1], home[1], home[3] - height),
            width, height];
    svg.setAttribute('viewBox', view.join(' '));
  };
  const zoom = (factor, x, y) => show([x - (x - view[0]) / factor, y - (y - view[1]) / factor,
                                       view[2] / factor, view[3] / factor]);
  const middle = factor => zoom(factor, view[0] + view[2] / 2, view[1] + view[3] / 2);
  const place = event => new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(svg.getScreenCTM().inverse());
  const say = (text, x, y, width, height) => {
    tip.textContent = text;
    mark.setAttribute('visibility', text ? 'visible' : 'hidden');
    if (!text) return;
    for (const [name, value] of Object.entries({x, y, width, height})) {
      mark.setAttribute(name, value);
    }
    const corner = new DOMPoint(x + width, y).matrixTransform(svg.getScreenCTM());
    tip.style.left = Math.min(corner.x + 10, innerWidth - tip.offsetWidth - 10) + 'px';
    tip.style.top = Math.max(0, corner.y - tip.offsetHeight - 6) + 'px';
  };
  const sayPoint = ([x, y, text]) => say(text, x - 35, y - 35, 70, 70);
  const sayCell = (panel, at) => {
    const [left, top, width, height] = panel.area;
    const {rows, columns, values} = panel.cells;
    const column = Math.floor((at.x - left) / width * columns.length);
    const line = Math.floor((at.y - top) / height * rows.length);
    const row = rows.length - 1 - line;
    const value = values[row]?.[column];
    if (value == null) return say('');
    const cell = [width / columns.length, height / rows.length];
    say(`${rows[row]}, ${columns[column]}: ${value}`, left + column * cell[0], top + line * cell[1],
        cell[0], cell[1]);
  };
  const hover = event => {
    const at = place(event);
    const panel = data.panels.find(({area: [x, y, width, height]}) =>
        at.x >= x && at.x <= x + width && at.y >= y && at.y <= y + height);
    if (!panel) return say('');
    if (panel.cells) return sayCell(panel, at);
    let best = 0.05 * panel.area[2], nearest = null;
    for (const point of panel.points || []) {
      const way = Math.hypot(point[0] - at.x, point[1] - at.y);
      if (way < best) [best, nearest] = [way, point];
    }
    nearest ? sayPoint(nearest) : say('');
  };

  let drag = null;
  svg.addEventListener('pointerdown', event => { drag = [place(event), view.slice()]; });
  svg.addEventListener('pointermove', event => {
    if (!drag || !(event.buttons & 1)) return hover(event);
    const at = place(event);
    show([view[0] + drag[0].x - at.x, view[1] + drag[0].y - at.y, view[2], view[3]]);
  });
  svg.addEventListener('pointerup', () => { drag = null; });
  svg.addEventListener('pointerleave', () => { drag = null; say(''); });
  svg.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = place(event);
    zoom(event.deltaY < 0 ? 1.25 : 0.8, at.x, at.y);
  }, {passive: false});
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('keydown', event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step || !points.length) return;
    event.preventDefault();
    current = (current + step + points.length) % points.length;
    sayPoint(points[current]);
  });
  svg.addEventListener('blur', () => say(''));

  const bar = document.createElement('div');
  bar.className = 'bar';
  svg.after(bar);
  button(bar, '+', 'zoom in', () => middle(1.5));
  button(bar, '\u2212', 'zoom out', () => middle(1 / 1.5));
  button(bar, 'Show all', 'show all', () => show(home));
  const labels = new Map();
  for (const {label, colour} of data.series) {
    labels.set(colour, labels.has(colour) ? labels.get(colour) + ', ' + label : label);
  }
  for (const [colour, label] of labels.size > 1 ? labels : []) {
    const made = button(bar, label, 'show ' + label, own => {
      const shown = own.getAttribute('aria-pressed') === 'false';
      own.setAttribute('aria-pressed', shown);
      for (const part of svg.querySelectorAll(`g[stroke="${colour}"],g[fill="${colour}"]`)) {
        part.setAttribute('visibility', shown ? 'visible' : 'hidden');
      }
    });
    made.setAttribute('aria-pressed', true);
    made.style.borderLeft = '8px solid ' + colour;
  }
}

document.querySelectorAll('figure').forEach(enliven);
document.documentElement.dataset.figures = 'ready';
)js";

/// Policy, title, style, list of figures, figures, script.
constexpr const char* kPage =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"{0}\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\"><title>{1}</title>\n"
    "<style>{2}</style></head>\n<body>\n<h1>{1}</h1>\n<ul>\n{3}</ul>\n{4}"
    "<script>{5}</script>\n</body>\n</html>\n";

/// Returns the source expression that permits an element with this text.
std::string hash_source(const std::string& text) {
  const QByteArray digest = QByteArray::fromHex(QByteArray::fromStdString(sha256_of(text)));
  return "'sha256-" + digest.toBase64().toStdString() + "'";
}

}  // namespace

std::string html_text(const std::string& text) {
  return QString::fromStdString(escaped_lines(text)).toHtmlEscaped().toStdString();
}

std::string report_data(const Json& hover) {
  QString text = QString::fromStdString(dump_json(hover));
  // Nothing in it ends the element.
  text.replace(QStringLiteral("</"), QStringLiteral("<\\/"))
      .replace(QStringLiteral("<!--"), QStringLiteral("<\\u0021--"));
  return "<script type=\"application/json\">" + text.toStdString() + "</script>\n";
}

std::string report_page(const std::string& title, const std::string& contents,
                        const std::string& body) {
  const std::string policy = fmt::format(
      "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      hash_source(kStyle), hash_source(kScript));
  return fmt::format(kPage, policy, html_text(title), kStyle, contents, body, kScript);
}

}  // namespace lime
