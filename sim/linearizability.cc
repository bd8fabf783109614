#include "sim/linearizability.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace etcdop::sim {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;
using Operations = std::vector<const Operation*>;

constexpr std::size_t kMaxLines = 20;  // More than a person reads of one contradiction.

enum class Verdict { Linearizable, Impossible, Undecided };

/// Drops operations that constrain nothing: failed ones, and gets without an answer. (An unknown
/// put whose value no get saw stays: it is harmless.)
Operations relevant(const Operations& all) {
  Operations kept;
  for (const Operation* o : all)
    if (o->outcome == Outcome::Ok || (o->kind == Kind::Put && o->outcome == Outcome::Unknown))
      kept.push_back(o);
  return kept;
}

/// Parameters for the search of one key.
struct Terms {
  std::size_t branches;  // Branches that it may still use.
  std::uint64_t first;   // The key's value before all operations.
};

/// Searches for an order of one key's operations, all of them relevant.
class Search {
 public:
  Search(const Operations& operations, std::uint64_t first);
  /// Subtracts from `branches` what it uses.
  Verdict run(std::size_t& branches);

 private:
  using Index = std::size_t;  // The index of an operation, an event or a value.
  static constexpr Index kNone = SIZE_MAX;

  struct Step {  // An operation, with the values that it needs or leaves.
    Kind kind;
    Index value;  // An index into left_.
    bool must;    // It surely happened.
    Index call, end = kNone;
  };
  struct Event {  // In a ring whose head is event 0; events of ordered operations are unlinked.
    Index step = kNone;
    bool call = false;
    Index previous = 0, next = 0;
  };
  struct Left {  // Operations not yet in the order, for each value.
    std::size_t gets = 0, puts = 0;
  };
  enum class Choice { Taken, Open, None };
  struct Branch {  // A place to come back to.
    std::size_t length;
    Index value, tried;
  };

  void link(Index step, bool call);
  void flip(Index step) { done_[step / 64] ^= std::uint64_t{1} << step % 64; }
  void apply(Index step);
  void undo_to(std::size_t length, Index value);
  Index next_put(Index after) const;
  void read_all();
  Choice take_harmless_put();
  bool settle();

  std::vector<Step> steps_;
  std::vector<Event> events_{1};
  std::vector<Left> left_;
  std::size_t must_ = 0;
  Index value_ = 0;                  // The register's value.
  std::vector<Index> order_;         // The order so far.
  std::vector<std::uint64_t> done_;  // One bit per operation.
  // States that had a choice. The value is not part of them: all gets of it are done, so the next
  // operation is a put in any case.
  std::set<std::vector<std::uint64_t>> seen_;
};

Search::Search(const Operations& operations, std::uint64_t first)
    : left_(1), done_(operations.size() / 64 + 1) {
  std::map<std::uint64_t, Index> values{{first, 0}};
  std::map<std::uint64_t, std::pair<Index, bool>> by_time;  // The step; whether it is its call.
  for (const Operation* o : operations) {
    auto [value, fresh] = values.try_emplace(o->value, left_.size());
    if (fresh) left_.emplace_back();
    Left& left = left_[value->second];
    ++(o->kind == Kind::Get ? left.gets : left.puts);
    const bool must = o->outcome == Outcome::Ok;
    must_ += must;
    by_time[o->invoked_order] = {steps_.size(), true};
    if (must) by_time[o->returned_order] = {steps_.size(), false};
    steps_.push_back({o->kind, value->second, must, kNone});
  }
  for (const auto& [time, event] : by_time) link(event.first, event.second);
}

void Search::link(Index step, bool call) {
  const Index last = events_[0].previous, self = events_.size();
  events_.push_back({step, call, last, 0});
  events_[last].next = events_[0].previous = self;
  (call ? steps_[step].call : steps_[step].end) = self;
}

/// Appends the operation to the order.
void Search::apply(Index step) {
  const Step& s = steps_[step];
  for (Index event : {s.call, s.end}) {
    if (event == kNone) continue;
    events_[events_[event].previous].next = events_[event].next;
    events_[events_[event].next].previous = events_[event].previous;
  }
  order_.push_back(step);
  flip(step);
  must_ -= s.must;
  --(s.kind == Kind::Get ? left_[s.value].gets : left_[s.value].puts);
  value_ = s.value;
}

void Search::undo_to(std::size_t length, Index value) {
  for (; order_.size() > length; order_.pop_back()) {
    const Step& s = steps_[order_.back()];
    for (Index event : {s.end, s.call}) {
      if (event == kNone) continue;
      events_[events_[event].previous].next = event;
      events_[events_[event].next].previous = event;
    }
    flip(order_.back());
    must_ += s.must;
    ++(s.kind == Kind::Get ? left_[s.value].gets : left_[s.value].puts);
  }
  value_ = value;
}

/// The next put that may come next in the order: it was invoked before the first return of any
/// operation that is not in the order yet.
Search::Index Search::next_put(Index after) const {
  for (Index e = events_[after == kNone ? 0 : steps_[after].call].next; e && events_[e].call;
       e = events_[e].next)
    if (steps_[events_[e].step].kind == Kind::Put) return events_[e].step;
  return kNone;
}

/// Gets that see the present value change nothing, so it is right to take them as early as
/// possible.
void Search::read_all() {
  if (left_[value_].gets == 0) return;
  for (Index e = events_[0].next; e && events_[e].call; e = events_[e].next) {
    const Index step = events_[e].step;
    if (steps_[step].kind != Kind::Get || steps_[step].value != value_) continue;
    e = events_[e].previous;  // Stays linked, and finds what follows the get and its return.
    apply(step);
  }
}

/// A put may safely come next if all remaining gets of its value can follow it at once. In any
/// valid order the whole block could move here: the register's value before a block does not matter
/// after it, and no other operation needs the block where it was. A put with a get that cannot
/// follow yet is a choice only if its value is put again.
Search::Choice Search::take_harmless_put() {
  const std::size_t length = order_.size();
  const Index value = value_;
  Choice choice = Choice::None;
  for (Index put = next_put(kNone); put != kNone; put = next_put(put)) {
    apply(put);
    read_all();
    if (left_[value_].gets == 0) return Choice::Taken;
    if (left_[value_].puts) choice = Choice::Open;
    undo_to(length, value);
  }
  return choice;
}

/// Continues while there is no choice. False: a dead end.
bool Search::settle() {
  for (;;) {
    read_all();
    // No remaining get of the present value could succeed once it is overwritten for good.
    if (left_[value_].gets && !left_[value_].puts) return false;
    if (must_ == 0) return true;
    const Choice choice = take_harmless_put();
    if (choice != Choice::Taken) return choice == Choice::Open;
  }
}

Verdict Search::run(std::size_t& branches) {
  std::vector<Branch> open;
  for (;;) {
    const bool alive = settle();
    if (must_ == 0) return Verdict::Linearizable;
    if (alive && seen_.insert(done_).second) {
      if (branches == 0) return Verdict::Undecided;
      --branches;
      open.push_back({order_.size(), value_, kNone});
    }
    for (;;) {
      if (open.empty()) return Verdict::Impossible;
      Branch& branch = open.back();
      undo_to(branch.length, branch.value);
      branch.tried = next_put(branch.tried);
      if (branch.tried != kNone) break;
      open.pop_back();
    }
    apply(open.back().tried);
  }
}

Verdict search(const Operations& operations, Terms& terms) {
  return Search(relevant(operations), terms.first).run(terms.branches);
}

bool impossible(const Operations& operations, Terms& terms) {
  return search(operations, terms) == Verdict::Impossible;
}

/// The operations as known after the event `last`. Missing information only makes more orders
/// possible, so the shortest impossible prefix is the earliest evidence.
std::vector<Operation> until(const Operations& operations, std::uint64_t last) {
  std::vector<Operation> known;
  for (const Operation* o : operations) {
    if (o->invoked_order > last) continue;
    known.push_back(*o);
    if (o->outcome == Outcome::Ok && o->returned_order > last)
      known.back().outcome = Outcome::Unknown;
  }
  return known;
}

Operations pointers(const std::vector<Operation>& operations) {
  Operations result;
  for (const Operation& o : operations) result.push_back(&o);
  return result;
}

/// The operations up to the first return that left no valid order.
Operations earliest(const Operations& all, Terms& terms) {
  std::vector<std::uint64_t> returns;
  for (const Operation* o : all)
    if (o->outcome == Outcome::Ok) returns.push_back(o->returned_order);
  std::sort(returns.begin(), returns.end());
  auto impossible_at = [&](std::uint64_t last) {
    return impossible(pointers(until(all, last)), terms);
  };
  std::size_t low = 0, high = returns.size() - 1;  // At `high` no order exists.
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (impossible_at(returns[middle])) high = middle;
    else low = middle + 1;
  }
  Operations kept;
  for (const Operation* o : all) {
    const bool get = o->kind == Kind::Get;
    if ((get ? o->returned_order : o->invoked_order) <= returns[high]) kept.push_back(o);
  }
  return kept;
}

/// Drops what the contradiction does not need: a get, or everything about a value. Dropping either
/// cannot make an order impossible.
Operations smallest(Operations window, Terms& terms) {
  auto try_without = [&](auto&& superfluous) {
    Operations rest;
    std::remove_copy_if(window.begin(), window.end(), std::back_inserter(rest), superfluous);
    if (rest.size() < window.size() && impossible(rest, terms)) window = std::move(rest);
  };
  std::set<std::uint64_t> values;
  for (const Operation* o : window) values.insert(o->value);
  for (std::uint64_t value : values)
    try_without([value](const Operation* o) { return o->value == value; });
  for (const Operation* get : Operations(window))
    if (get->kind == Kind::Get) try_without([get](const Operation* o) { return o == get; });
  return window;
}

std::string seconds(Instant when) {
  if (when == Instant::max()) return "never";
  const auto us = std::chrono::floor<std::chrono::microseconds>(when.time_since_epoch()).count();
  std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction +
         "s";
}

std::string line(const Operation& o) {
  std::string text = "  client " + std::to_string(o.client) + "  ";
  const std::string value = o.value ? std::to_string(o.value) : "absent";
  if (o.kind == Kind::Get) text += "get() -> " + value;
  else text += o.value ? "put(" + value + ")" : "delete()";
  if (o.outcome == Outcome::Unknown) text += " with unknown outcome";
  if (o.outcome == Outcome::Failed) text += " which failed";
  return text + "  from " + seconds(o.invoked) + " (#" + std::to_string(o.invoked_order) + ") to " +
         seconds(o.returned) +
         (o.returned_order == Operation::kNever ? ""
                                                : " (#" + std::to_string(o.returned_order) + ")") +
         "\n";
}

std::string describe(const std::string& key, const Operations& all, const Operations& window) {
  std::set<std::uint64_t> seen;
  for (const Operation* o : window)
    if (o->kind == Kind::Get) seen.insert(o->value);
  std::vector<std::string> lines;
  for (const Operation* o : all) {
    const bool failed_and_seen =
        o->kind == Kind::Put && o->outcome == Outcome::Failed && seen.contains(o->value);
    if (failed_and_seen || std::find(window.begin(), window.end(), o) != window.end())
      lines.push_back(line(*o));
  }
  std::string text = "key " + key + ": no order of these operations explains what was seen:\n";
  const std::size_t hidden = lines.size() - std::min(lines.size(), kMaxLines);
  if (hidden) text += "  (" + std::to_string(hidden) + " earlier ones)\n";
  for (std::size_t i = hidden; i < lines.size(); ++i) text += lines[i];
  return text;
}

std::optional<Violation> check_key(const std::string& key, const Operations& all,
                                   const Terms& allowed) {
  const Operations kept = relevant(all);
  Terms terms = allowed;
  const Verdict verdict = search(kept, terms);
  if (verdict == Verdict::Linearizable) return std::nullopt;
  if (verdict == Verdict::Undecided)
    return Violation{Violation::Kind::Undecided,
                     key,
                     {},
                     "key " + key + ": undecided: " + std::to_string(kept.size()) +
                         " operations, too many orders to try; put each value once\n"};
  terms = allowed;
  const Operations window = relevant(smallest(earliest(kept, terms), terms));
  Violation violation{Violation::Kind::Impossible, key, {}, describe(key, all, window)};
  for (const Operation* o : window) violation.window.push_back(*o);
  return violation;
}

}  // namespace

std::optional<Violation> check_linearizable(const History& history, std::size_t max_branches) {
  std::map<std::string, Operations> keys;
  for (const Operation& o : history.operations()) keys[o.key].push_back(&o);
  std::optional<Violation> undecided;
  for (const auto& [key, operations] : keys) {
    auto violation = check_key(key, operations, {max_branches, history.first_value(key)});
    if (violation && violation->kind == Violation::Kind::Impossible) return violation;
    if (violation && !undecided) undecided = std::move(violation);
  }
  return undecided;
}

}  // namespace etcdop::sim
