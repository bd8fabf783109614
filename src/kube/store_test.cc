#include "kube/store.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

struct Thing {
  static constexpr api::Resource resource{"", "v1", "things", "Thing"};
  api::ObjectMeta metadata;
  bool operator==(const Thing&) const = default;

  template <class S = Thing>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata));
  }
};

Thing thing(std::string name, std::string version, std::string uid = "u1",
            std::string cluster = "db", std::string ns = "prod") {
  Thing out;
  out.metadata.name = std::move(name);
  out.metadata.ns = std::move(ns);
  out.metadata.resource_version = std::move(version);
  out.metadata.uid = std::move(uid);
  if (!cluster.empty()) out.metadata.labels["cluster"] = std::move(cluster);
  return out;
}

std::optional<ObjectKey> cluster_of(const Thing& object) {
  const auto found = object.metadata.labels.find("cluster");
  if (found == object.metadata.labels.end()) return std::nullopt;
  return ObjectKey{object.metadata.ns, found->second};
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    store.on_change([this](const ObjectKey& group) { told += group.name + " "; });
  }
  /// "-" if the object does not exist.
  std::string version(const std::string& name, const std::string& ns = "prod") const {
    const auto object = store.get({ns, name});
    return object ? object->metadata.resource_version : "-";
  }
  std::string names_in(const std::string& group) const {
    std::string out;
    for (const auto& object : store.in_group({"prod", group})) out += object->metadata.name + " ";
    return out;
  }
  void replace(const std::vector<Thing>& listed, std::uint64_t mark, Instant at,
               const std::string& scope = "", const std::set<ObjectKey>& unreadable = {}) {
    std::vector<Store<Thing>::Listed> all;
    for (const Thing& object : listed) all.push_back(store.listed(object));
    store.replace(std::move(all), mark, at, scope, unreadable);
  }
  Store<Thing> store{cluster_of};
  std::string told;
  const Instant now = Instant(100s);
};

TEST_F(StoreTest, WhatWasNotLookedAtForLongIsThereAsItWas) {
  std::vector<Thing> things;
  for (int i = 0; i < 200; ++i)
    things.push_back(thing("thing-" + std::to_string(i), std::to_string(i)));
  things[7].metadata.annotations["a"] = "text with \"quotes\" and \n";
  things[7].metadata.finalizers = {"f"};
  things[7].metadata.deletion_timestamp = "";
  replace(things, store.mark(), now);
  const auto held = store.get({"prod", "thing-7"});
  EXPECT_EQ(store.get({"prod", "thing-7"}), held) << "who holds it, and who asks, have the same";
  std::size_t known = 0;
  for (const Thing& wanted : things) {
    const auto found = store.get(wanted.metadata.key());
    ASSERT_TRUE(found);
    known += *found == wanted;
  }
  EXPECT_EQ(known, things.size());
  EXPECT_EQ(store.all().size(), things.size());
  store.saw_deleted(things[3]);
  EXPECT_FALSE(store.get({"prod", "thing-3"}));
}

TEST_F(StoreTest, ThoseWhoseNamesBeginSoAreFoundInTheirNamespaceAlone) {
  for (const char* name : {"db", "db-2", "db-1", "db0", "da-1", "e"})
    store.saw(thing(name, "1", name));
  store.saw(thing("db-3", "1", "other", "db", "test"));
  std::string names;
  for (const auto& one : store.named({"prod", "db-"})) names += one->metadata.name + " ";
  EXPECT_EQ(names, "db-1 db-2 ");
  EXPECT_TRUE(store.named({"prod", "x"}).empty());
  EXPECT_EQ(store.named({"test", ""}).size(), 1U);
}

TEST_F(StoreTest, EventsFillIt) {
  replace({thing("b", "1"), thing("a", "2")}, store.mark(), now);
  EXPECT_EQ(names_in("db"), "a b ") << "ordered by name";
  store.saw(thing("c", "3"));
  store.saw(thing("a", "4"));
  store.saw_deleted(thing("b", "5"));
  EXPECT_EQ(names_in("db"), "a c ");
  EXPECT_EQ(version("a"), "4");
  EXPECT_EQ(told, "db db db db db ");
}

TEST_F(StoreTest, WhatIsKnownAlreadyIsNoChange) {
  replace({thing("a", "1")}, store.mark(), now);
  told.clear();
  store.saw(thing("a", "1"));
  replace({thing("a", "1")}, store.mark(), now);
  store.saw_deleted(thing("never-seen", "1"));
  EXPECT_EQ(told, "");
}

TEST_F(StoreTest, APassKeepsWhatItSaw) {
  store.saw(thing("a", "1"));
  const auto seen = store.get({"prod", "a"});
  store.saw(thing("a", "2"));
  EXPECT_EQ(seen->metadata.resource_version, "1");
}

TEST_F(StoreTest, AnObjectThatMovesIsToldToBothGroups) {
  store.saw(thing("a", "1", "u", "old"));
  told.clear();
  store.on_change(
      [this](const ObjectKey&) { told += "(" + names_in("old") + names_in("new") + ")"; });
  store.saw(thing("a", "2", "u", "new"));
  EXPECT_EQ(told, "old (a )new (a )") << "and the store is consistent when it tells";
  EXPECT_EQ(names_in("old"), "");
  told.clear();
  store.saw(thing("a", "3", "u", ""));
  EXPECT_EQ(told, "new ()");
  store.saw_deleted(thing("a", "4", "u", ""));
  EXPECT_EQ(store.size(), 0U);
}

TEST_F(StoreTest, OlderEventsDoNotUndoAWrite) {
  store.saw(thing("a", "1"));
  store.wrote(thing("a", "4"));
  store.saw(thing("a", "2"));
  store.saw(thing("a", "3"));
  EXPECT_EQ(version("a"), "4");
  store.saw(thing("a", "4"));
  store.saw(thing("a", "5"));
  EXPECT_EQ(version("a"), "5");
}

TEST_F(StoreTest, OfTwoWritesTheLastIsAwaited) {
  store.wrote(thing("a", "1"));
  store.wrote(thing("a", "2"));
  store.saw(thing("a", "1"));
  EXPECT_EQ(version("a"), "2");
  store.saw(thing("a", "2"));
  store.saw(thing("a", "3"));
  EXPECT_EQ(version("a"), "3");
}

TEST_F(StoreTest, AnAnswerThatALaterWriteOvertookChangesNothing) {
  store.saw(thing("a", "1"));
  store.wrote(thing("a", "3"));
  store.saw(thing("a", "2"));  // Another fiber's write, whose answer has not arrived yet...
  store.wrote(thing("a", "2"));
  EXPECT_EQ(version("a"), "3");
  store.saw(thing("a", "3"));
  store.wrote(thing("a", "2"));  // ...or later still.
  EXPECT_EQ(version("a"), "3");
  EXPECT_FALSE(store.overdue(now));
  EXPECT_FALSE(store.overdue(now + 1h)) << "nothing is awaited";
}

TEST_F(StoreTest, AWriteThatChangedNothingAwaitsNoEvent) {
  store.saw(thing("a", "1"));
  store.wrote(thing("a", "1"));
  store.saw(thing("a", "2"));
  EXPECT_EQ(version("a"), "2");
  EXPECT_FALSE(store.overdue(now));
  EXPECT_FALSE(store.overdue(now + 1h));
}

TEST_F(StoreTest, AnAnswerThatTheWatchOvertookChangesNothing) {
  store.saw(thing("a", "1"));
  store.saw(thing("a", "2"));  // Our write's event...
  store.saw(thing("a", "3"));  // ...and another client's write.
  told.clear();
  store.wrote(thing("a", "2"));
  EXPECT_EQ(version("a"), "3");
  EXPECT_EQ(told, "");
  store.saw(thing("a", "4"));
  EXPECT_EQ(version("a"), "4");
}

TEST_F(StoreTest, AnAnswerThatComesAfterTheObjectsEndDoesNotBringItBack) {
  store.saw(thing("a", "1"));
  store.saw_deleted(thing("a", "3"));
  store.wrote(thing("a", "2"));  // Such as the removal of its last finalizer.
  EXPECT_EQ(version("a"), "-");
  store.wrote(thing("a", "4", "u2"));
  EXPECT_EQ(version("a"), "4") << "another object of that name";
}

TEST_F(StoreTest, AnAnswerAboutAnObjectThatCameAndWentUnseenDoesNotBringItBack) {
  store.saw_deleted(thing("a", "2"));
  store.wrote(thing("a", "1"));
  EXPECT_EQ(version("a"), "-");
}

TEST_F(StoreTest, AnObjectThatRegainedItsLabelCanBeWrittenAgain) {
  store.saw(thing("a", "1"));
  store.saw_deleted(thing("a", "2"));  // How a watch with a selector reports a lost label.
  store.saw(thing("a", "3"));
  store.wrote(thing("a", "4"));
  EXPECT_EQ(version("a"), "4");
}

TEST_F(StoreTest, TheEndOfAnOlderObjectDoesNotEndTheOneJustMade) {
  store.saw(thing("a", "1", "old"));
  store.wrote(thing("a", "3", "new"));
  store.saw(thing("a", "2", "old"));
  store.saw_deleted(thing("a", "2", "old"));
  EXPECT_EQ(version("a"), "3");
  store.saw_deleted(thing("a", "5", "new"));
  EXPECT_EQ(version("a"), "-") << "its own end counts, awaited event or not";
  store.saw(thing("a", "6", "newer"));
  EXPECT_EQ(version("a"), "6");
}

TEST_F(StoreTest, AListThatBeganBeforeAWriteDoesNotUndoIt) {
  replace({thing("changed", "1"), thing("gone", "1", "u2")}, store.mark(), now);
  const auto mark = store.mark();
  store.wrote(thing("changed", "5"));
  store.wrote(thing("made", "6", "u3"));
  replace({thing("changed", "1")}, mark, now);
  EXPECT_EQ(version("changed"), "5");
  EXPECT_EQ(version("made"), "6");
  EXPECT_EQ(version("gone"), "-");
  store.saw(thing("changed", "4"));
  EXPECT_EQ(version("changed"), "5") << "still awaited";
}

TEST_F(StoreTest, AListThatHasTheWriteSettlesIt) {
  replace({thing("a", "1")}, store.mark(), now);
  const auto mark = store.mark();
  store.wrote(thing("a", "2"));
  replace({thing("a", "2")}, mark, now);
  store.saw(thing("a", "3"));
  EXPECT_EQ(version("a"), "3");
}

TEST_F(StoreTest, AListThatBeganAfterAWriteIsTheTruth) {
  store.wrote(thing("deleted-since", "1", "u1"));
  store.wrote(thing("changed-since", "2", "u2"));
  replace({thing("changed-since", "7", "u2")}, store.mark(), now);
  EXPECT_EQ(version("deleted-since"), "-");
  EXPECT_EQ(version("changed-since"), "7");
}

TEST_F(StoreTest, AnAwaitedEventThatNeverComesMakesItOverdueAndAListSettlesIt) {
  store.wrote(thing("a", "2"));
  EXPECT_FALSE(store.overdue(now));
  store.saw(thing("a", "3"));  // The event of 2 was merged into it.
  EXPECT_EQ(version("a"), "2");
  EXPECT_FALSE(store.overdue(now + 9s));
  EXPECT_TRUE(store.overdue(now + 10s));
  replace({thing("a", "3")}, store.mark(), now + 11s);
  EXPECT_EQ(version("a"), "3");
  EXPECT_FALSE(store.overdue(now + 1h));
}

TEST_F(StoreTest, EachNewWriteHasItsOwnTime) {
  store.wrote(thing("a", "1"));
  EXPECT_FALSE(store.overdue(now));
  store.wrote(thing("a", "2"));
  EXPECT_FALSE(store.overdue(now + 10s));
  EXPECT_TRUE(store.overdue(now + 20s));
}

TEST_F(StoreTest, OneNamespacesListDoesNotTouchAnothers) {
  replace({thing("a", "1", "u1", "db", "one")}, store.mark(), now, "one");
  replace({thing("b", "1", "u2", "db", "two")}, store.mark(), now, "two");
  store.wrote(thing("c", "2", "u3", "db", "two"));
  EXPECT_EQ(version("a", "one"), "1");
  EXPECT_FALSE(store.overdue(now, "two"));
  EXPECT_FALSE(store.overdue(now + 1min, "one"));
  EXPECT_TRUE(store.overdue(now + 1min, "two"));
  replace({}, store.mark(), now, "one");
  EXPECT_EQ(version("a", "one"), "-");
  EXPECT_EQ(version("b", "two"), "1");
}

TEST_F(StoreTest, ItIsSyncedAndAsOldAsTheWorstOfItsScopes) {
  EXPECT_FALSE(store.synced());
  store.expect("one");
  store.expect("two");
  replace({}, store.mark(), now, "one");
  EXPECT_FALSE(store.synced());
  EXPECT_EQ(store.age(now), std::nullopt);
  replace({}, store.mark(), now + 5s, "two");
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(store.age(now + 6s), 6s);
  store.heard(now + 6s, "one");
  EXPECT_EQ(store.age(now + 6s), 1s);
}

TEST_F(StoreTest, WhatIsListedButCannotBeReadIsNotTakenForGone) {
  replace({thing("a", "1"), thing("b", "1", "u2")}, store.mark(), now);
  replace({}, store.mark(), now, "", {{"prod", "a"}});
  EXPECT_EQ(version("a"), "1");
  EXPECT_EQ(version("b"), "-");
}

struct Shape {
  static constexpr api::Resource resource{"", "v1", "shapes", "Shape"};
  api::ObjectMeta metadata;
  std::optional<Json> spec, status;
  bool operator==(const Shape&) const = default;

  template <class S = Shape>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::optional("spec", &S::spec),
                      api::optional("status", &S::status));
  }
};

Shape shape(const std::string& name, const Json& long_field) {
  Shape out;
  out.metadata.name = name;
  out.spec = json::object{{"a", long_field}, {"b", 1}};
  out.status = json::object{{"observed", {{"a", long_field}, {"c", json::array{}}}}, {"d", "e"}};
  return out;
}

TEST(StoreTexts, N4_WhatObjectsHaveInCommonIsKeptOnce) {
  SharedTexts texts;
  const auto group = [](const Shape& one) { return std::optional(one.metadata.key()); };
  {
    Store<Shape> clusters(group, texts), members(group, texts);
    const Json large = json::array{std::string(5000, 'x')};
    for (int i = 0; i < 100; ++i) {
      clusters.saw(shape("a" + std::to_string(i), large));
      members.saw(shape("a" + std::to_string(i), large));
    }
    EXPECT_EQ(texts.size(), 1U);
    EXPECT_EQ(*clusters.get({"", "a0"}), shape("a0", large)) << "not among the latest";
    EXPECT_EQ(*members.get({"", "a99"}), shape("a99", large));
    members.saw(shape("b", json::array{std::string(5000, 'y')}));
    members.saw(shape("c", json::array{std::string(500, 'z')}));
    EXPECT_EQ(texts.size(), 2U) << "a short one is not apart";
    EXPECT_EQ(*members.get({"", "c"}), shape("c", json::array{std::string(500, 'z')}));
    members.saw_deleted({"", "b"}, "");
  }
  EXPECT_EQ(texts.size(), 0U);
}

/// Parsed, they take several times the memory.
TEST(StoreTexts, N4_LargeObjectsAreNotHeldParsed) {
  Store<Shape> store([](const Shape& one) { return std::optional(one.metadata.key()); });
  std::vector<std::weak_ptr<const Shape>> parsed;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "a" + std::to_string(i);
    store.saw(shape(name, json::array{std::string(50'000, static_cast<char>('a' + i))}));
    parsed.push_back(store.get({"", name}));
  }
  const auto held =
      std::ranges::count_if(parsed, [](const auto& object) { return !object.expired(); });
  EXPECT_LE(held, 3);
  EXPECT_EQ(store.all().size(), 20U);
}

TEST(StoreTexts, N4_WhatIsNeverReadIsTakenOutOfOurOwnWritesToo) {
  Store<Thing> store(cluster_of, {}, [](Thing& one) {
    one.metadata.annotations.clear();
    return std::string(one.metadata.name == "odd" ? "it is odd" : "");
  });
  Thing written = thing("a", "1");
  written.metadata.annotations["a"] = "b";
  store.wrote(written);
  EXPECT_TRUE(store.get({"prod", "a"})->metadata.annotations.empty());
  store.wrote(thing("odd", "1"));
  EXPECT_FALSE(store.get({"prod", "odd"}));
}

}  // namespace
}  // namespace etcdop::kube
