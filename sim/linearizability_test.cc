// Three kinds of evidence: histories made by hand, each for one mistake that a store can make;
// random histories of a working register, which must be accepted; and small random histories, good
// and bad, on which a checker that tries every order must agree.
#include "sim/linearizability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

namespace etcdop::sim {
namespace {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

/// A history told line by line; each event is a millisecond after the one before.
class Told {
 public:
  using Handle = History::Handle;
  Handle put(int client, std::uint64_t value, const char* key = "a") {
    return history.invoke_put(client, key, value, tick());
  }
  Handle get(int client, const char* key = "a") { return history.invoke_get(client, key, tick()); }
  void ok(Handle put) { history.returned(put, Outcome::Ok, tick()); }
  void saw(Handle get, std::uint64_t value) { history.returned_value(get, value, tick()); }
  void failed(Handle put) { history.returned(put, Outcome::Failed, tick()); }
  void unknown(Handle put) { history.returned(put, Outcome::Unknown, tick()); }
  // Operations that do not overlap others:
  void did_put(int client, std::uint64_t value) { ok(put(client, value)); }
  void did_get(int client, std::uint64_t value) { saw(get(client), value); }

  bool good() const { return !check_linearizable(history); }
  /// Certainly bad; a search that gave up does not count.
  bool bad() const {
    const auto violation = check_linearizable(history);
    return violation && violation->kind == Violation::Kind::Impossible;
  }

  History history;

 private:
  Instant tick() { return now_ += std::chrono::milliseconds(1); }
  Instant now_{};
};

// ---- Histories that a register could have made

TEST(Linearizability, NothingDoneIsFine) { EXPECT_TRUE(Told().good()); }

TEST(Linearizability, EachReadSeesTheWriteBeforeIt) {
  Told t;
  t.did_get(1, 0);
  t.did_put(1, 7);
  t.did_get(2, 7);
  t.did_put(2, 8);
  t.did_get(1, 8);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, AKeyBeginsWithWhatTheHistorySays) {
  for (std::uint64_t seen : {0U, 7U}) {
    Told t;
    t.history.begins_with("a", 7);
    t.did_get(1, seen);
    t.did_put(1, 8);
    t.did_get(2, 8);
    EXPECT_EQ(t.good(), seen == 7);
    EXPECT_EQ(t.bad(), seen == 0);
  }
  Told back;
  back.history.begins_with("a", 7);
  back.did_put(1, 8);
  back.did_get(2, 7);
  EXPECT_TRUE(back.bad()) << "it is written over";
  Told other;
  other.history.begins_with("b", 7);
  other.did_get(1, 7);
  EXPECT_TRUE(other.bad()) << "that is another key";
}

TEST(Linearizability, AReadDuringAWriteMaySeeEitherValue) {
  for (std::uint64_t seen : {1U, 2U}) {
    Told t;
    t.did_put(1, 1);
    auto put = t.put(1, 2);
    t.did_get(2, seen);
    t.ok(put);
    EXPECT_TRUE(t.good()) << seen;
  }
}

TEST(Linearizability, OverlappingWritesMayHaveHappenedInEitherOrder) {
  for (std::uint64_t seen : {1U, 2U}) {
    Told t;
    auto one = t.put(1, 1), two = t.put(2, 2);
    t.ok(one);
    t.ok(two);
    t.did_get(3, seen);
    t.did_get(4, seen);
    EXPECT_TRUE(t.good()) << seen;
  }
}

TEST(Linearizability, AnUnknownPutMayTakeEffectLongAfterItsClientGaveUp) {
  Told t;
  auto lost = t.put(1, 1);
  t.unknown(lost);
  t.did_put(2, 2);
  t.did_get(2, 2);
  t.did_get(3, 1);
  t.did_get(3, 1);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, AnUnknownPutMayNeverTakeEffect) {
  Told t;
  t.did_put(1, 1);
  t.unknown(t.put(2, 2));
  t.did_get(1, 1);
  t.did_get(3, 1);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, APutThatIsStillOnItsWayAtTheEndIsUnknown) {
  for (std::uint64_t seen : {1U, 2U}) {
    Told t;
    t.did_put(1, 1);
    t.put(2, 2);
    t.did_get(3, seen);
    EXPECT_TRUE(t.good()) << seen;
  }
}

TEST(Linearizability, AnUnknownPutMayBeOverwrittenUnseen) {
  Told t;
  t.unknown(t.put(1, 1));
  t.did_get(2, 1);
  t.did_put(2, 2);
  t.did_get(1, 2);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, AnUnansweredGetAndAFailedPutSayNothing) {
  Told t;
  t.did_put(1, 1);
  t.unknown(t.get(2));
  t.failed(t.get(2));
  t.failed(t.put(2, 2));
  t.did_get(1, 1);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, KeysAreIndependent) {
  Told t;
  t.ok(t.put(1, 1, "a"));
  t.ok(t.put(1, 2, "b"));
  t.saw(t.get(2, "b"), 2);
  t.saw(t.get(2, "a"), 1);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, AValueMayComeBackIfItIsPutAgain) {
  Told t;
  t.did_put(1, 1);
  t.did_put(2, 2);
  auto again = t.put(1, 1);
  t.did_get(3, 2);
  t.did_get(3, 1);
  t.ok(again);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, ADeletedKeyIsAbsent) {
  Told t;
  t.did_put(1, 1);
  t.did_put(1, 0);
  t.did_get(2, 0);
  EXPECT_TRUE(t.good());
}

TEST(Linearizability, OnlyTheOrderOfEventsDecidesWithinOneInstant) {
  History history;
  const Instant now{};
  auto first = history.invoke_put(1, "a", 1, now);
  history.returned(first, Outcome::Ok, now);
  history.returned_value(history.invoke_get(2, "a", now), 0, now);
  EXPECT_TRUE(check_linearizable(history)) << "the get came after the put had returned";
}

// ---- Histories that a register could not have made

TEST(Linearizability, AStaleReadAfterANewerPutReturnedIsFound) {
  Told t;
  t.did_put(1, 1);
  t.did_put(1, 2);
  t.did_get(2, 1);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, ALostAcknowledgedWriteIsFound) {
  Told t;
  t.did_put(1, 1);
  t.did_get(2, 0);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AWriteThatWasSeenAndThenLostIsFoundThoughItsOutcomeIsUnknown) {
  Told t;
  t.did_put(1, 1);
  t.unknown(t.put(1, 2));
  t.did_get(2, 2);
  t.did_get(3, 1);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AValueThatNobodyPutIsFound) {
  Told t;
  t.did_put(1, 1);
  t.did_get(2, 9);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AValueSeenBeforeItsPutBeganIsFound) {
  Told t;
  t.did_get(2, 1);
  t.did_put(1, 1);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AnUnknownPutSeenBeforeItBeganIsFound) {
  Told t;
  t.did_get(2, 1);
  t.unknown(t.put(1, 1));
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AValueGoingBackAndForthBetweenReadsIsFound) {
  Told t;
  auto one = t.put(1, 1), two = t.put(2, 2);
  t.did_get(3, 1);
  t.did_get(3, 2);
  t.did_get(3, 1);
  t.ok(one);
  t.ok(two);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AReadOfTheOldValueAfterAReadOfTheNewOneIsFoundWhileThePutIsOnItsWay) {
  Told t;
  t.did_put(1, 1);
  auto put = t.put(1, 2);
  t.did_get(2, 2);
  t.did_get(3, 1);
  t.ok(put);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, TwoClientsThatDisagreeOnTheOrderAreFound) {
  Told t;
  auto one = t.put(1, 1), two = t.put(2, 2);
  auto first = t.get(3);
  t.did_get(4, 2);
  t.saw(first, 1);
  t.ok(one);
  t.ok(two);
  auto last = t.get(3);
  t.did_get(4, 1);
  t.saw(last, 2);
  EXPECT_TRUE(t.bad()) << "nothing is put any more, and yet 3 sees 2 while 4 sees 1";
}

TEST(Linearizability, TwoReadersOfTheEndThatSeeDifferentValuesAreFound) {
  Told t;
  auto one = t.put(1, 1), two = t.put(2, 2);
  t.ok(one);
  t.ok(two);
  t.did_get(3, 1);
  t.did_get(4, 2);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AFailedPutThatWasSeenIsFoundAndNamed) {
  Told t;
  t.did_put(1, 1);
  t.failed(t.put(1, 2));
  t.failed(t.put(1, 3));
  t.did_get(2, 2);
  ASSERT_TRUE(t.bad());
  const std::string text = check_linearizable(t.history)->text;
  EXPECT_NE(text.find("put(2) which failed"), std::string::npos) << text;
  EXPECT_EQ(text.find("put(3)"), std::string::npos) << "it has nothing to do with it: " << text;
}

TEST(Linearizability, ADeleteThatCameUndoneIsFound) {
  Told t;
  t.did_put(1, 1);
  t.did_put(1, 0);
  t.did_get(2, 1);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AValuePutTwiceCannotComeBackAThirdTime) {
  Told t;
  t.did_put(1, 1);
  t.did_put(1, 2);
  t.did_put(1, 1);
  t.did_put(1, 3);
  t.did_get(2, 1);
  EXPECT_TRUE(t.bad());
}

TEST(Linearizability, AnUnknownPutCountsOnce) {
  Told t;
  t.unknown(t.put(1, 1));
  t.did_put(2, 2);
  t.did_get(2, 1);
  t.did_put(2, 3);
  t.did_get(2, 1);
  EXPECT_TRUE(t.bad());
}

// ---- Reports

TEST(Linearizability, AViolationShowsTheFewOperationsThatContradictEachOther) {
  Told t;
  for (std::uint64_t value = 1; value < 50; ++value) {
    t.did_put(1, value);
    t.did_get(2, value);
    if (value == 20) t.did_get(3, 17);
  }
  auto violation = check_linearizable(t.history);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::Impossible);
  EXPECT_EQ(violation->key, "a");
  // One later value is enough to show that 17 was overwritten.
  EXPECT_EQ(violation->text,
            "key a: no order of these operations explains what was seen:\n"
            "  client 1  put(17)  from 0.065000s (#64) to 0.066000s (#65)\n"
            "  client 1  put(20)  from 0.077000s (#76) to 0.078000s (#77)\n"
            "  client 3  get() -> 17  from 0.081000s (#80) to 0.082000s (#81)\n");
  EXPECT_EQ(violation->window.size(), 3U);
}

TEST(Linearizability, OfTwoViolationsTheEarlierIsShown) {
  for (std::uint64_t before : {0U, 1U, 2U, 5U, 9U}) {
    Told t;
    for (std::uint64_t value = 1; value <= before; ++value) t.did_put(1, value);
    t.did_get(2, 66);
    for (std::uint64_t value = before + 1; value < 10; ++value) t.did_put(1, value);
    t.did_get(2, 77);
    auto violation = check_linearizable(t.history);
    ASSERT_TRUE(violation);
    ASSERT_EQ(violation->window.size(), 1U);
    EXPECT_EQ(violation->window[0].value, 66U) << "after " << before << " puts";
  }
}

TEST(Linearizability, OfALongContradictionTheEndIsTold) {
  Told t;
  std::vector<Told::Handle> puts;
  for (std::uint64_t i = 0; i < 10; ++i) puts.push_back(t.put(static_cast<int>(i), i % 2 + 1));
  for (std::uint64_t i = 0; i < 11; ++i) t.did_get(10, i % 2 + 1);
  for (auto put : puts) t.ok(put);
  auto violation = check_linearizable(t.history);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::Impossible);
  EXPECT_EQ(violation->window.size(), 21U) << "ten puts cannot explain eleven values in turn";
  EXPECT_EQ(std::count(violation->text.begin(), violation->text.end(), '\n'), 22);
  EXPECT_NE(violation->text.find("(1 earlier ones)"), std::string::npos);
}

TEST(Linearizability, TheFirstBrokenKeyIsNamed) {
  Told t;
  t.ok(t.put(1, 1, "fine"));
  t.saw(t.get(1, "broken"), 1);
  t.saw(t.get(1, "fine"), 1);
  auto violation = check_linearizable(t.history);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->key, "broken");
}

/// The first put must not come first in the order, which only a search finds.
Told needs_a_second_try() {
  Told t;
  auto one = t.put(1, 1), two = t.put(2, 2), again = t.put(3, 1);
  t.did_get(4, 1);
  t.did_get(4, 2);
  t.did_get(4, 1);
  t.ok(one);
  t.ok(two);
  t.ok(again);
  return t;
}

TEST(Linearizability, ASearchThatReachesItsBoundIsUndecidedAndNotFine) {
  const Told t = needs_a_second_try();
  EXPECT_TRUE(t.good());
  auto violation = check_linearizable(t.history, 0);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, Violation::Kind::Undecided);
  EXPECT_NE(violation->text.find("key a: undecided"), std::string::npos);
}

TEST(Linearizability, AnImpossibleKeyIsReportedBeforeAnUndecidedOne) {
  Told t = needs_a_second_try();
  t.saw(t.get(1, "b"), 5);
  auto violation = check_linearizable(t.history, 0);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->key, "b");
  EXPECT_EQ(violation->kind, Violation::Kind::Impossible);
}

// ---- Random histories

struct Shape {
  int clients = 4, operations = 7, keys = 1;
  std::uint64_t values = 0;  ///< Puts choose among 0 (a delete) to this; 0: all put values differ.
};

/// Clients of working registers: each operation takes effect at one random step between its
/// invocation and its return. Some are never answered; some of these take effect much later, others
/// never.
class World {
 public:
  World(std::uint64_t seed, Shape shape)
      : shape_(shape),
        random_(seed),
        clients_(static_cast<std::size_t>(shape.clients)),
        registers_(static_cast<std::size_t>(shape.keys)) {}

  History run() {
    int begun = 0;
    auto busy = [](const Client& c) { return c.state != Client::Idle; };
    while (begun < shape_.operations || std::any_of(clients_.begin(), clients_.end(), busy)) {
      const std::size_t who = pick(clients_.size());
      Client& client = clients_[who];
      now_ += std::chrono::microseconds(pick(3));  // Often the same instant.
      if (client.state == Client::Sent) step(client);
      else if (client.state == Client::Executed) answer(client);
      else if (begun < shape_.operations) {
        invoke(static_cast<int>(who), client);
        ++begun;
      }
      if (!late_.empty() && pick(20) == 0) execute_late();
    }
    return std::move(history_);
  }

 private:
  struct Request {
    History::Handle handle{};
    bool put = false;
    std::size_t key = 0;
    std::uint64_t value = 0;
  };
  struct Client {
    enum { Idle, Sent, Executed } state = Idle;
    Request request;
  };

  std::size_t pick(std::size_t choices) { return random_() % choices; }

  void invoke(int who, Client& client) {
    Request& r = client.request;
    r.put = pick(2) == 0;
    r.key = pick(registers_.size());
    r.value = shape_.values ? pick(shape_.values + 1) : ++next_value_;
    const std::string key = "k" + std::to_string(r.key);
    r.handle =
        r.put ? history_.invoke_put(who, key, r.value, now_) : history_.invoke_get(who, key, now_);
    client.state = Client::Sent;
  }

  void execute(Request& r) {
    if (r.put) registers_[r.key] = r.value;
    else r.value = registers_[r.key];
  }

  void step(Client& client) {
    const std::size_t fate = pick(20);
    client.state = Client::Idle;
    if (fate == 0) {
      history_.returned(client.request.handle, Outcome::Failed, now_);
    } else if (fate == 1) {
      history_.returned(client.request.handle, Outcome::Unknown, now_);
      late_.push_back(client.request);
    } else {
      execute(client.request);
      client.state = Client::Executed;
    }
  }

  void answer(Client& client) {
    const Request& r = client.request;
    if (pick(20) == 0) history_.returned(r.handle, Outcome::Unknown, now_);
    else if (r.put) history_.returned(r.handle, Outcome::Ok, now_);
    else history_.returned_value(r.handle, r.value, now_);
    client.state = Client::Idle;
  }

  void execute_late() {
    const std::size_t which = pick(late_.size());
    execute(late_[which]);
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  Shape shape_;
  std::mt19937_64 random_;
  std::vector<Client> clients_;
  std::vector<std::uint64_t> registers_;
  std::vector<Request> late_;
  std::uint64_t next_value_ = 0;
  History history_;
  Instant now_{};
};

/// The same events, but get `changed` saw `value`.
History with_value(const History& history, std::size_t changed, std::uint64_t value) {
  std::map<std::uint64_t, std::pair<std::size_t, bool>> events;
  const auto& all = history.operations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    events[all[i].invoked_order] = {i, true};
    if (all[i].outcome != Outcome::Unknown) events[all[i].returned_order] = {i, false};
  }
  History result;
  std::vector<History::Handle> handles(all.size());
  for (const auto& [order, event] : events) {
    const auto& [i, call] = event;
    const Operation& o = all[i];
    if (call)
      handles[i] = o.kind == Kind::Put ? result.invoke_put(o.client, o.key, o.value, o.invoked)
                                       : result.invoke_get(o.client, o.key, o.invoked);
    else if (o.kind == Kind::Get && o.outcome == Outcome::Ok)
      result.returned_value(handles[i], i == changed ? value : o.value, o.returned);
    else result.returned(handles[i], o.outcome, o.returned);
  }
  return result;
}

/// Tries every order of one key's operations, straight from the definition.
bool brute_force(const std::vector<Operation>& all, std::vector<bool>& done, std::uint64_t value) {
  std::uint64_t first_return = Operation::kNever;
  bool missing = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (done[i] || all[i].outcome != Outcome::Ok) continue;
    missing = true;
    first_return = std::min(first_return, all[i].returned_order);
  }
  if (!missing) return true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Operation& o = all[i];
    if (done[i] || o.outcome == Outcome::Failed || o.invoked_order > first_return) continue;
    const bool get = o.kind == Kind::Get;
    if (get && (o.outcome == Outcome::Unknown || o.value != value)) continue;
    done[i] = true;
    if (brute_force(all, done, o.value)) return true;
    done[i] = false;
  }
  return false;
}

bool brute_force(const std::vector<Operation>& operations) {
  std::vector<bool> done(operations.size());
  return brute_force(operations, done, 0);
}

TEST(Linearizability, WhatRegistersThatWorkDidIsAccepted) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (int clients : {1, 3, 8, 16}) {
      const History history = World(seed, {clients, 1000, 5}).run();
      // Each value is put once, so the search never branches: hence the bound 0.
      auto violation = check_linearizable(history, 0);
      ASSERT_FALSE(violation) << "seed " << seed << "\n" << violation->text;
    }
}

TEST(Linearizability, WhatRegistersThatWorkDidIsAcceptedAlsoIfValuesArePutAgain) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (std::uint64_t values : {1U, 3U, 10U}) {
      const History history = World(seed, {8, 400, 4, values}).run();
      auto violation = check_linearizable(history);
      ASSERT_FALSE(violation) << "seed " << seed << "\n" << violation->text;
    }
}

TEST(Linearizability, NoPlaceIsSearchedTwice) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    // Without memory, a dozen of these seeds need thousands of branches.
    auto violation = check_linearizable(World(seed, {4, 100, 1, 2}).run(), 200);
    ASSERT_FALSE(violation) << "seed " << seed << "\n" << violation->text;
  }
}

TEST(Linearizability, OneReadOfAnOverwrittenValueIsFoundAmongAThousandOperations) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const History history = World(seed, {8, 1000, 5}).run();
    const auto& all = history.operations();
    // The last read of k0, and the first value of k0 that surely was overwritten before it.
    auto ok = [](const Operation& o, Kind kind) {
      return o.key == "k0" && o.kind == kind && o.outcome == Outcome::Ok;
    };
    auto get = std::find_if(all.rbegin(), all.rend(), [&](auto& o) { return ok(o, Kind::Get); });
    auto old = std::find_if(all.begin(), all.end(), [&](auto& o) { return ok(o, Kind::Put); });
    auto newer = std::find_if(old, all.end(), [&](auto& o) {
      return ok(o, Kind::Put) && o.invoked_order > old->returned_order;
    });
    ASSERT_NE(newer, all.end());
    ASSERT_LT(newer->returned_order, get->invoked_order);
    const auto changed = static_cast<std::size_t>(all.rend() - get) - 1;
    auto violation = check_linearizable(with_value(history, changed, old->value), 1);
    ASSERT_TRUE(violation) << "seed " << seed;
    ASSERT_EQ(violation->kind, Violation::Kind::Impossible) << "seed " << seed;
    EXPECT_EQ(violation->key, "k0");
    ASSERT_LE(violation->window.size(), 4U) << violation->text;
    EXPECT_FALSE(brute_force(violation->window)) << violation->text;
    ++tried;
  }
  EXPECT_EQ(tried, 20U);
}

TEST(Linearizability, ItAgreesWithTryingEveryOrder) {
  constexpr std::array<std::uint64_t, 3> kValues{0, 2, 3};  // See Shape.
  std::size_t good = 0, bad = 0;
  for (std::uint64_t seed = 0; seed < 9000; ++seed) {
    std::mt19937_64 random(seed);
    const int clients = static_cast<int>(random() % 4 + 2);
    const History history = World(seed, {clients, 7, 1, kValues[seed % 3]}).run();
    ASSERT_TRUE(brute_force(history.operations())) << "the register does not work, seed " << seed;
    std::vector<std::size_t> gets;
    for (std::size_t i = 0; i < history.operations().size(); ++i) {
      const Operation& o = history.operations()[i];
      if (o.kind == Kind::Get && o.outcome == Outcome::Ok) gets.push_back(i);
    }
    if (gets.empty()) continue;
    // A value that was never put.
    const History changed = with_value(history, gets[random() % gets.size()],
                                       random() % (seed % 3 ? kValues[seed % 3] + 2 : 7));
    const bool expected = brute_force(changed.operations());
    auto violation = check_linearizable(changed);
    ASSERT_EQ(!violation, expected) << "seed " << seed << "\n"
                                    << (violation ? violation->text : "");
    if (violation) {
      ASSERT_EQ(violation->kind, Violation::Kind::Impossible);
      ASSERT_FALSE(brute_force(violation->window)) << "seed " << seed << "\n" << violation->text;
    }
    ++(expected ? good : bad);
  }
  EXPECT_GT(good, 2000U);
  EXPECT_GT(bad, 2000U);
}

}  // namespace
}  // namespace etcdop::sim
