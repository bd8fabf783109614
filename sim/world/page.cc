#include "sim/world/page.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

namespace etcdop::sim {

namespace {

constexpr double kSecond = 2.5, kRow = 18, kBar = 14;  // Pixels.
constexpr double kAxis = 22, kGroup = 24, kMark = 9;
constexpr std::size_t kLinesMax = 20'000;  // The last lines of the trace.

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2330; --faint: #667085; --line: #d9dee7;
  --leader: #5fa8e8; --voter: #b9dcf7; --learner: #f5c26b; --starting: #d4d8df; --removed: #d3b7e8;
  --quorum: #bfe5cd; --none: #f0938a; --leading: #5fa8e8; --waiting: #d4d8df; --frozen: #c4bdf2;
  --fault: #d1352b; --user: #7a3fc0; --step: #1769aa; --wrong: #e00012; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e8ecf2; --faint: #98a2b3;
  --line: #343c49; --leader: #1f6db3; --voter: #274a68; --learner: #8a5a0c; --starting: #3d4450;
  --removed: #5d3f78; --quorum: #1f5135; --none: #8f2a22; --leading: #1f6db3; --waiting: #3d4450;
  --frozen: #4b4390; --fault: #ff8078; --user: #c39bff; --step: #6db8f2; --wrong: #ff4d5a; } }
body { margin: 0 auto; padding: 16px; background: var(--paper); color: var(--ink);
  font: 14px/1.4 system-ui, sans-serif; }
h1 { font-size: 18px; margin: 0 0 4px; } p { margin: 4px 0; } .faint { color: var(--faint); }
.wrong { color: var(--wrong); font-weight: 600; }
.legend span { display: inline-block; padding: 0 8px; margin: 4px 6px 4px 0; border-radius: 3px; }
.chart { display: flex; margin: 12px 0; } .chart > div { overflow-x: auto; }
svg { display: block; flex: none; }
svg text { font: 11px ui-monospace, monospace; fill: var(--ink); }
svg .group { font-weight: 700; } svg .axis { fill: var(--faint); } svg a circle { cursor: pointer; }
svg line { stroke: var(--line); } svg .violation { stroke: var(--wrong); stroke-width: 2; }
.controls { position: sticky; top: 0; background: var(--paper); padding: 6px 0; }
.controls label { margin-right: 12px; white-space: nowrap; }
.trace { font: 12px/1.5 ui-monospace, monospace; } .trace div { white-space: pre-wrap;
  padding-left: 25ch; text-indent: -25ch; } .trace div:target { outline: 2px solid var(--step); }
.trace .fault { color: var(--fault); } .trace .user { color: var(--user); }
</style>
)";

constexpr const char* kScript = R"(<script>
const lines = [...document.querySelectorAll('.trace div')], text = document.getElementById('text');
const boxes = [...document.querySelectorAll('.controls input[type=checkbox]')];
function filter() {
  const on = new Set(boxes.filter(b => b.checked).map(b => b.value)), word = text.value;
  for (const l of lines)
    l.hidden = !on.has(l.dataset.who) || (word && !l.textContent.includes(word));
}
for (const b of boxes) b.addEventListener('change', filter);
text.addEventListener('input', filter);
document.getElementById('all').addEventListener('click', () => {
  const on = !boxes.every(b => b.checked); for (const b of boxes) b.checked = on; filter(); });
window.addEventListener('hashchange', () => {
  const l = document.querySelector(location.hash); if (l && l.hidden) l.hidden = false; });
</script>
)";

struct Kind {
  const char *is, *color, *means;
};
/// All states; any other state is drawn as starting.
constexpr Kind kKinds[] = {
    {"leader", "leader", "etcd: serves and leads"},
    {"voter", "voter", "etcd: serves and votes"},
    {"learner", "learner", "etcd: serves, does not vote yet"},
    {"starting", "starting", "etcd: runs, does not serve"},
    {"removed", "removed", "etcd: runs, is no member any more"},
    {"quorum", "quorum", "enough voters reach each other"},
    {"no quorum", "none", "they do not"},
    {"leading", "leading", "operator: holds the Lease"},
    {"waiting", "waiting", "operator: does not"},
    {"frozen", "frozen", "operator: stands still"},
};

double seconds(Instant when) {
  return std::chrono::duration<double>(when.time_since_epoch()).count();
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

/// A state of one actor over a period, in seconds.
struct Bar {
  double from, to;
  std::string is;
};
/// Bars that do not overlap, on one line of the chart. On a shared line, each bar has a name.
struct Row {
  std::string name;
  std::vector<Bar> bars;
};
struct Mark {
  double at;
  std::size_t line;  ///< The index in the trace.
  const char* color;
};

/// All rows of one group, in order of appearance; the quorum comes first.
std::vector<Row> rows_of(const RunOutcome& run, const std::string& group) {
  const double end = std::chrono::duration<double>(run.lasted).count();
  std::vector<Row> rows;
  for (const Trace::State& state : run.states) {
    if (state.group != group) continue;
    auto row = std::ranges::find(rows, state.who, &Row::name);
    if (row == rows.end())
      row = rows.insert(state.who == "quorum" ? rows.begin() : rows.end(), Row{state.who, {}});
    const double at = seconds(state.since);
    if (!row->bars.empty()) row->bars.back().to = std::min(row->bars.back().to, at);
    if (!state.is.empty()) row->bars.push_back({at, end, state.is});
  }
  return rows;
}

/// The first free lane of the chart from `from` on; adds one if none is free.
std::size_t free_lane(std::vector<double>& busy_until, double from, double to) {
  std::size_t lane = 0;
  while (lane < busy_until.size() && busy_until[lane] > from) ++lane;
  if (lane == busy_until.size()) busy_until.push_back(to);
  busy_until[lane] = to;
  return lane;
}

/// Draws the chart from top to bottom: names in one picture, events in another that scrolls beside
/// it.
class Chart {
 public:
  explicit Chart(const RunOutcome& run)
      : run_(run), width_(std::chrono::duration<double>(run.lasted).count() * kSecond + 20) {}

  std::string draw() {
    axis();
    y_ = kAxis;
    marks("faults", "fault", "fault");
    marks("people", "user", "user");
    steps();
    std::vector<std::string> groups;
    for (const Trace::State& state : run_.states)
      if (std::ranges::count(groups, state.group) == 0) groups.push_back(state.group);
    for (const std::string& group : groups) {
      heading(group);
      if (group == "operators") shared(rows_of(run_, group));
      else
        for (const Row& row : rows_of(run_, group)) alone(row);
    }
    violation();
    grid();
    return "<div class=\"chart\">" + picture(kNames, names_) + "<div>" +
           picture(width_, grid_ + bars_) + "</div></div>\n";
  }

 private:
  static constexpr double kNames = 150;

  std::string picture(double width, const std::string& inside) const {
    return "<svg width=\"" + number(width) + "\" height=\"" + number(y_ + 6) + "\">" + inside +
           "</svg>";
  }
  static std::string text(double x, double y, const std::string& words, const char* of = "") {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + of + "\">" +
           escaped(words) + "</text>";
  }
  void name(const std::string& words, const char* of = "") {
    names_ += text(0, y_ + kBar - 3, words, of);
  }
  void heading(const std::string& words) {
    y_ += kGroup - kRow;
    name(words, "group");
    y_ += kRow;
  }

  void axis() {
    const double end = width_ / kSecond;
    for (double at = 0; at < end; at += 30)
      axis_ +=
          text(at * kSecond + 2, 12, number(at).substr(0, number(at).find('.')) + " s", "axis");
  }
  void grid() {
    for (double at = 0; at < width_ / kSecond; at += 30) {
      const std::string x = number(at * kSecond);
      grid_ += "<line x1=\"" + x + "\" x2=\"" + x + "\" y1=\"0\" y2=\"" + number(y_) + "\"/>";
    }
    grid_ += axis_;
  }

  void bar(const Bar& what, const std::string& whose, const std::string& label) {
    const Kind* kind = std::ranges::find_if(kKinds, [&](const Kind& k) { return what.is == k.is; });
    const char* color = kind == std::end(kKinds) ? "starting" : kind->color;
    const double x = what.from * kSecond, width = std::max(1.0, (what.to - what.from) * kSecond);
    bars_ += "<g><title>" + escaped(whose + ": " + what.is) + ", " + number(what.from) + " to " +
             number(what.to) + " s</title><rect x=\"" + number(x) + "\" y=\"" + number(y_) +
             "\" width=\"" + number(width) + "\" height=\"" + number(kBar) + "\" fill=\"var(--" +
             color + ")\" stroke=\"var(--paper)\" stroke-width=\"0.5\"/>";
    if (static_cast<double>(label.size()) * 6.8 + 4 < width)
      bars_ += text(x + 3, y_ + kBar - 3.5, label);
    bars_ += "</g>";
  }
  void alone(const Row& row) {
    name(row.name);
    for (const Bar& one : row.bars) bar(one, row.name, one.is);
    y_ += kRow;
  }
  /// Rows that do not overlap share a line.
  void shared(const std::vector<Row>& rows) {
    const double top = y_;
    std::vector<double> busy;
    for (const Row& row : rows) {
      if (row.bars.empty()) continue;
      const std::size_t lane = free_lane(busy, row.bars.front().from, row.bars.back().to);
      y_ = top + static_cast<double>(lane) * kRow;
      for (const Bar& one : row.bars) bar(one, row.name, row.name + " " + one.is);
    }
    y_ = top + static_cast<double>(busy.size()) * kRow;
  }

  void marks(const std::string& title, const std::string& who, const char* color) {
    std::vector<Mark> all;
    for (std::size_t i = 0; i < run_.trace.size(); ++i)
      if (run_.trace[i].who == who) all.push_back({seconds(run_.trace[i].when), i, color});
    draw(title, all);
  }
  void steps() {
    std::vector<Mark> all;
    for (std::size_t i = 0; i < run_.trace.size(); ++i)
      if (run_.trace[i].what.starts_with("says: planned"))
        all.push_back({seconds(run_.trace[i].when), i, "step"});
    draw("steps planned", all);
  }
  /// Overlapping marks are drawn below each other.
  void draw(const std::string& title, const std::vector<Mark>& all) {
    name(title);
    std::vector<double> busy;
    for (const Mark& mark : all) {
      const double x = mark.at * kSecond + kMark / 2;
      const std::size_t lane = std::min<std::size_t>(free_lane(busy, x, x + kMark), 5);
      const double y = y_ + kBar / 2 + static_cast<double>(lane) * kMark;
      const Trace::Line& line = run_.trace[mark.line];
      bars_ += "<a href=\"#l" + std::to_string(mark.line) + "\"><title>" +
               escaped(seconds_text(line.when) + " " + line.who + ": " + line.what) +
               "</title><circle cx=\"" + number(x) + "\" cy=\"" + number(y) +
               "\" r=\"3.5\" fill=\"var(--" + mark.color + ")\"/></a>";
    }
    const std::size_t lanes = std::clamp<std::size_t>(busy.size(), 1, 6);
    y_ += kRow + static_cast<double>(lanes - 1) * kMark;
  }

  void violation() {
    if (!run_.violation) return;
    const std::string x = number(seconds(run_.violation->when) * kSecond);
    bars_ += "<g><title>" + escaped(run_.violation->invariant + ": " + run_.violation->what) +
             "</title><line class=\"violation\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"0\" y2=\"" +
             number(y_) + "\"/></g>";
  }

  const RunOutcome& run_;
  const double width_;
  double y_ = 0;
  std::string names_, bars_, axis_, grid_;
};

std::string heading(const RunOutcome& run) {
  const std::string seed = std::to_string(run.seed);
  std::string out = std::string(kHead) + "<title>seed " + seed +
                    "</title></head><body>\n<h1>Seed " + seed +
                    (run.violation ? ": failed" : ": passed") + "</h1>\n";
  if (run.violation)
    out += "<p class=\"wrong\">" + escaped(run.violation->invariant) + " at" +
           seconds_text(run.violation->when) + " s: " + escaped(run.violation->what) + "</p>\n";
  out += "<p class=\"faint\">" + number(std::chrono::duration<double>(run.lasted).count()) +
         " s, " + std::to_string(run.writes) + " writes of operators, " +
         std::to_string(run.operations) +
         " operations of clients. Faults: " + escaped(run.faults.text()) +
         "</p>\n<p class=\"legend\">";
  for (const Kind& kind : kKinds)
    out += std::string("<span style=\"background:var(--") + kind.color + ")\" title=\"" +
           kind.means + "\">" + kind.is + "</span>";
  return out + "<span class=\"faint\">hover for what it is; a mark leads to its line</span></p>\n";
}

std::string trace_of(const RunOutcome& run) {
  std::set<std::string> who;
  const std::size_t first = run.trace.size() - std::min(run.trace.size(), kLinesMax);
  for (std::size_t i = first; i < run.trace.size(); ++i) who.insert(run.trace[i].who);
  std::string out = "<div class=\"controls\">";
  for (const std::string& one : who)
    out += "<label><input type=\"checkbox\" checked value=\"" + escaped(one) + "\"> " +
           escaped(one) + "</label>";
  out +=
      "<button id=\"all\">all or none</button> <input id=\"text\" placeholder=\"lines with\">"
      "</div>\n<div class=\"trace\">\n";
  if (first > 0)
    out += "<p class=\"faint\">" + std::to_string(first) + " lines before these are left out</p>";
  for (std::size_t i = first; i < run.trace.size(); ++i) {
    const Trace::Line& line = run.trace[i];
    const std::string name = escaped(line.who);
    std::string padded = name + "            ";
    out += "<div id=\"l" + std::to_string(i) + "\" data-who=\"" + name + "\" class=\"" +
           (name == "fault" || name == "user" ? name : "") + "\">" + seconds_text(line.when) + " " +
           padded.substr(0, std::max<std::size_t>(12, name.size())) + " " + escaped(line.what) +
           "</div>\n";
  }
  return out + "</div>\n";
}

}  // namespace

std::string page(const RunOutcome& run) {
  return heading(run) + Chart(run).draw() + trace_of(run) + kScript + "</body></html>\n";
}

}  // namespace etcdop::sim
