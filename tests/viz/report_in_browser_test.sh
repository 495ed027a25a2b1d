#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Opens a report of lime-figure in a headless Chromium: its script runs under its own policy, nothing
# is written to the console, and without scripts the figures are there all the same.
#   report_in_browser_test.sh LIME_FIGURE FOLDER RESULTS...
# Ends with 77, skipped, where Chromium is not installed.
set -euo pipefail
figure=$1
folder=$2
shift 2
command -v chromium >/dev/null || {
  echo "skipped: needs Debian's package chromium"
  exit 77
}
fail() {
  echo "$*"
  exit 1
}
# browse PAGE OPTION...: prints the page as the browser has it after its scripts, and what it logs
browse() {
  local page=$1
  shift
  chromium --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --enable-logging=stderr \
    --virtual-time-budget=3000 --window-size=1000,1400 "$@" "file://$folder/$page" 2>&1
}
errors_in() { grep -E ':CONSOLE:[0-9]+\]' <<<"$1" || true; }

rm -rf "$folder"
mkdir -p "$folder"
"$figure" report "$@" -o "$folder/report.html" >"$folder/log"

page=$(browse report.html --dump-dom)
[ -z "$(errors_in "$page")" ] || fail "the browser logs: $(errors_in "$page")"
grep -q 'data-figures="ready"' <<<"$page" || fail "the script of the report did not run"

# The figures make a picture of the page larger, with the script and where scripts are off.
sed "s|script-src '[^']*'|script-src 'none'|" "$folder/report.html" >"$folder/no-scripts.html"
sed '/<svg/,/<\/svg>/d' "$folder/report.html" >"$folder/no-figures.html"
size_of() {  # of the picture of a page
  browse "$1.html" --screenshot="$folder/$1.png" >"$folder/log"
  stat -c %s "$folder/$1.png"
}
empty=$(size_of no-figures)
for page in report no-scripts; do
  [ "$(size_of "$page")" -gt $((empty + 10000)) ] || fail "there are no figures in the picture of $page.html"
done

# What the test would say of a script that the policy does not permit.
sed 's|</body>|<script>document.title = "other";</script></body>|' "$folder/report.html" >"$folder/other.html"
other=$(browse other.html --dump-dom)
[ -n "$(errors_in "$other")" ] || fail "the browser says nothing of a script that is not permitted"
