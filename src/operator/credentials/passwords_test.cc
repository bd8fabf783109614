// The passwords of root as a table; and a small world of them, in which every state is checked.
#include "operator/credentials/passwords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace etcdop {
namespace {

/// A password is a letter; '-' is none.
Secret secret(char letter) { return letter == '-' ? Secret() : Secret(std::string(1, letter)); }
char letter_of(const Secret& s) { return s.empty() ? '-' : s.reveal().at(0); }

/// "password next previous", such as "A--".
std::string letters_of(const KeptPasswords& k) {
  return {letter_of(k.password), letter_of(k.next), letter_of(k.previous)};
}

/// `current`: the one that root has logged in with.
Passwords known(char wanted, const std::string& kept, char current) {
  return {.wanted = secret(wanted),
          .missing = wanted == '-' ? "it is not there" : "",
          .kept = {secret(kept.at(0)), secret(kept.at(1)), secret(kept.at(2))},
          .current = secret(current)};
}

std::string step_of(const Passwords& of) {
  switch (next_step(of)) {
    case PasswordStep::None: return "none";
    case PasswordStep::Record: return "record";
    case PasswordStep::Change: return "change";
  }
}

TEST(Passwords, Table) {
  struct Row {
    char wanted;
    const char* kept;
    char current;
    const char *step, *to_keep, *candidates, *because;
  };
  const Row rows[] = {
      // root does not exist, or could not log in.
      {'-', "---", '-', "none", "---", "", "nothing is known"},
      {'A', "---", '-', "record", "A--", "A", "before root is made"},
      {'A', "A--", '-', "none", "A--", "A", "root may be made"},
      {'B', "A--", '-', "none", "A--", "BA", "one with A may be on its way"},
      {'-', "A--", '-', "none", "A--", "A", "the user's Secret is gone"},
      {'C', "AB-", '-', "none", "AB-", "CAB", "it is A or B"},
      {'C', "B-A", '-', "none", "B-A", "CBA", ""},
      // root has logged in.
      {'A', "---", 'A', "record", "A--", "A", "authentication was turned on by hand"},
      {'A', "A--", 'A', "none", "A--", "A", "at rest"},
      {'-', "A--", 'A', "none", "A--", "A", "nothing else is wanted"},
      {'B', "A--", 'A', "record", "AB-", "BA", "before etcd is told"},
      {'B', "AB-", 'A', "change", "AB-", "BA", ""},
      {'C', "AB-", 'A', "change", "AB-", "CAB", "what was begun is carried through"},
      {'A', "AB-", 'A', "change", "AB-", "AB", "also if it is not wanted any more"},
      {'-', "AB-", 'A', "change", "AB-", "AB", ""},
      {'B', "AB-", 'B', "record", "B-A", "BA", "it has come through; A may be late"},
      {'C', "AB-", 'B', "record", "BCA", "CAB", "and the next one at once"},
      {'C', "BCA", 'B', "change", "BCA", "CBA", ""},
      {'C', "BCA", 'C', "record", "C-B", "CBA", ""},
      {'B', "B-A", 'B', "none", "B-A", "BA", "at rest"},
      {'B', "B-A", 'A', "record", "ABB", "BA", "a late request has set it back"},
      {'A', "AA-", 'A', "record", "A--", "A", "no change from A to A"},
  };
  for (const Row& row : rows) {
    const Passwords of = known(row.wanted, row.kept, row.current);
    const std::string what = std::string("wanted ") + row.wanted + ", kept " + row.kept +
                             ", current " + row.current + ": " + row.because;
    EXPECT_EQ(step_of(of), row.step) << what;
    EXPECT_EQ(letters_of(to_keep(of)), row.to_keep) << what;
    std::string all;
    for (const Secret& one : candidates(of)) all += letter_of(one);
    EXPECT_EQ(all, row.candidates) << what;
  }
}

TEST(Passwords, OurSecretIsNamedAfterTheCluster) {
  EXPECT_EQ(auth_secret_name("db"), "db-operator-auth");
}

/// The operator's requests to etcd.
enum class Request { None, AddUser, ChangeUser, Enable, ChangeAsRoot };

/// An etcd, the two Secrets, and an operator between two calls.
struct World {
  char wanted = 'A';         // In the user's Secret.
  std::string kept = "---";  // In ours.
  char root = '-';           // Its password in etcd; '-': no such user.
  bool on = false, told_on = false;
  char current = '-';
  bool records = false;  // The operator's next action: write our Secret, or else a request.
  Request request = Request::None, late = Request::None;
  char with = '-', late_with = '-';
  bool was_late = false;
  int outlived = 0;  // The number of changes that the late request has outlived.
  auto operator<=>(const World&) const = default;

  Passwords known() const { return etcdop::known(wanted, kept, current); }
  void rest() {
    records = false;
    request = Request::None;
    with = '-';
  }
};

std::string told(const World& w) {
  static constexpr const char* kDoes[] = {"nothing", "add", "change", "enable", "change as root"};
  return std::string("wanted ") + w.wanted + ", kept " + w.kept + ", etcd " + w.root +
         (w.on ? " on" : " off") + ", current " + w.current + ", does " +
         (w.records ? "record" : kDoes[static_cast<int>(w.request)]) + " " + w.with + ", late " +
         kDoes[static_cast<int>(w.late)] + " " + w.late_with;
}

/// The request reaches etcd. With authentication on, etcd does nothing for wrong credentials.
void arrive(World& w, Request what, char with) {
  if (what == Request::AddUser && !w.on && w.root == '-') w.root = with;
  if (what == Request::ChangeUser && !w.on && w.root != '-') w.root = with;
  if (what == Request::Enable && w.root != '-') w.on = true;
  if (what == Request::ChangeAsRoot && w.on) w.root = with;
}

void arrive_late(World& w) {
  arrive(w, w.late, w.late_with);
  w.late = Request::None;
  w.late_with = '-';
}

/// Logs in, and decides as the cluster's rule `secure` does.
void begin_pass(World& w) {
  if (!w.on || w.current != w.root) w.current = '-';  // The token is no longer valid.
  if (w.on && w.current == '-')
    for (const Secret& one : candidates(w.known()))
      if (letter_of(one) == w.root) w.current = w.root;
  w.told_on |= w.on;
  const PasswordStep step = next_step(w.known());
  if (w.told_on ? w.current == '-' : w.wanted == '-') return;
  w.records = step == PasswordStep::Record;
  if (w.records || (w.told_on && step == PasswordStep::None)) return;
  w.request = w.told_on ? Request::ChangeAsRoot : Request::AddUser;
  w.with = w.told_on ? w.kept[1] : w.kept[0];
}

/// The operator's next call, or the next pass.
void go_on(World& w) {
  if (w.records) {
    w.kept = letters_of(to_keep(w.known()));  // The user's Secret may have changed by now.
    return w.rest();
  }
  if (w.request == Request::None) return begin_pass(w);
  const World before = w;
  arrive(w, w.request, w.with);
  if (before.request == Request::AddUser)
    w.request = before.root == '-' ? Request::Enable : Request::ChangeUser;
  else if (before.request == Request::ChangeUser) w.request = Request::Enable;
  else w.rest();
  if (before.request != Request::ChangeAsRoot) return;
  w.current = '-';
  // A call to etcd ends within seconds, and a Secret is read once in minutes.
  if (w.late != Request::None && w.root != before.root && ++w.outlived == 2) {
    w.late = Request::None;
    w.late_with = '-';
  }
}

void kill(World& w) {
  w.rest();
  w.current = '-';
}

/// All possible next states.
std::vector<std::pair<std::string, World>> after(const World& w) {
  std::vector<std::pair<std::string, World>> out;
  const auto may = [&](std::string what, auto happens) {
    World next = w;
    happens(next);
    if (next != w) out.emplace_back(std::move(what), std::move(next));
  };
  may("the operator goes on", go_on);
  may("the operator is killed", kill);
  // A user who turned it on by hand must let the operator in once.
  if (!w.on || w.kept != "---")
    for (const char edit : {'A', 'B', 'C', '-'})
      may("the user edits the Secret", [&](World& next) { next.wanted = edit; });
  if (w.late != Request::None) may("the late request arrives", arrive_late);
  if (w.request != Request::None && !w.was_late)
    may("the operator is killed, its request late", [](World& next) {
      next.late = next.request;
      next.late_with = next.with;
      next.was_late = true;
      kill(next);
    });
  return out;
}

/// Every state that can be reached, and where it came from.
class Worlds {
 public:
  explicit Worlds(const std::vector<World>& first) {
    for (const World& w : first) see(w, w, "it begins");
    while (!line_.empty()) {
      const World w = line_.front();
      line_.pop_front();
      for (const auto& [what, next] : after(w)) see(next, w, what);
    }
  }
  /// Ordered by the number of steps that lead there.
  const std::vector<World>& all() const { return all_; }
  std::string trace(const World& to) const {
    const auto& [from, what] = came_.at(to);
    const std::string line = what + ": " + told(to) + "\n";
    return from == to ? line : trace(from) + line;
  }

 private:
  void see(const World& w, const World& from, const std::string& what) {
    if (!came_.emplace(w, std::pair(from, what)).second) return;
    line_.push_back(w);
    all_.push_back(w);
  }
  std::map<World, std::pair<World, std::string>> came_;
  std::deque<World> line_;
  std::vector<World> all_;
};

/// Begins without root, with a root that has another password, and with authentication on.
const Worlds& worlds() {
  static const Worlds all({{}, {.root = 'X'}, {.root = 'A', .on = true}});
  return all;
}

TEST(Passwords, NobodyIsEverLockedOut) {
  int on = 0;
  for (const World& w : worlds().all()) {
    if (!w.on) continue;
    ++on;
    const auto all = candidates(w.known());
    ASSERT_NE(std::ranges::find(all, secret(w.root)), all.end()) << worlds().trace(w);
  }
  EXPECT_GT(on, 1000);
}

TEST(Passwords, WhenTheEditsStopEtcdSoonHasTheWantedOne) {
  constexpr int kStepsMax = 12;
  for (World w : worlds().all()) {
    if (w.wanted == '-') continue;
    const World from = w;
    arrive_late(w);
    for (int i = 0; i < kStepsMax; ++i) go_on(w);
    ASSERT_TRUE(w.on && w.root == w.wanted && w.current == w.wanted)
        << worlds().trace(from) << "comes to " << told(w);
    const World rests = w;
    go_on(w);
    ASSERT_EQ(told(w), told(rests)) << "nothing is asked at rest";
  }
}

}  // namespace
}  // namespace etcdop
