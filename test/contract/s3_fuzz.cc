// Sends the same random calls to a real object store and to the simulated one, and compares their
// answers.
//   s3_fuzz --program=FILE [--seed=N] [--operations=N]
// FILE is versitygw. On a difference it prints the shortest story that it found, and exits with 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/contract/s3_stores.h"

namespace etcdop::contract {
namespace {

using s3::Store;
using s3::Tag;

constexpr std::size_t kStorySteps = 60;
constexpr const char* kNever = "\"00000000000000000000000000000000\"";  // A tag of no object.

enum class Act { Put, Get, Head, Remove, Begin, Send, Complete, Abort, List, Uploads, kCount };

/// One call; the act decides which numbers matter.
struct Step {
  Act act = Act::Head;
  std::size_t key = 0, upload = 0;  ///< An upload by its index in the story.
  std::uint64_t a = 0, b = 0, c = 0;
};
using Story = std::vector<Step>;

/// No key is the folder of another: stores that keep files cannot have that.
constexpr std::array kKeys = {"a/1", "a/2", "a/b/c", "b", "c d+%\xC3\xA9"};
constexpr std::array kPrefixes = {"", "a", "a/", "a/b", "b", "c ", "x"};

Step draw_step(sim::Dice& dice) {
  Step step;
  step.act = static_cast<Act>(dice.below(static_cast<std::uint64_t>(Act::kCount)));
  step.key = dice.below(kKeys.size());
  step.upload = dice.below(4);
  step.a = dice.next();
  step.b = dice.next();
  step.c = dice.next();
  return step;
}

/// Tells a story to one store and records the answers.
class Listener {
 public:
  explicit Listener(Store& store) : store_(store) {}
  std::string tell(const Step& step);

 private:
  static std::string key(const Step& step) { return kKeys[step.key]; }
  /// Different bytes each time; sometimes a part of 5 MiB.
  std::string bytes(const Step& step) {
    const bool large = step.act == Act::Send && step.a % 3 == 0;
    return std::string(large ? Store::kPartBytesMin : step.a % 20, static_cast<char>(++letter_));
  }
  /// The key's last known tag, or one that never existed.
  Tag tag(const Step& step) const {
    const auto it = tags_.find(key(step));
    return step.c % 4 == 0 || it == tags_.end() ? Tag{kNever} : it->second;
  }
  s3::Upload upload(const Step& step) const {
    if (begun_.empty()) return {.key = key(step), .id = "00000000-0000-0000-0000-000000000000"};
    s3::Upload out = begun_[begun_.size() - 1 - step.upload % begun_.size()];
    if (step.c % 10 == 0) out.key = key(step);
    return out;
  }
  std::string get(const Step& step);
  std::string begin(const Step& step);
  std::string send(const Step& step);
  std::string complete(const Step& step);
  std::string list(const Step& step);
  std::string uploads(const Step& step);

  /// The code and the store's own code; texts differ.
  static std::string told(const Error& error) {
    return "error " + std::to_string(static_cast<int>(error.code)) + " " +
           error.message.substr(0, error.message.find(" ("));
  }
  static std::string told(const s3::Object& object) {
    std::string out = std::to_string(object.size) + " " + object.tag.text;
    for (const auto& [name, value] : object.metadata) out += " " + name + "=" + value;
    return out;
  }
  static std::string told(const Tag& tag) { return tag.text; }
  static std::string told(const Done&) { return "done"; }
  template <class T>
  static std::string told(Result<T> result) {
    return result ? told(*result) : told(result.error());
  }
  std::string remembered(const std::string& in, Result<Tag> tag) {
    if (tag) tags_[in] = *tag;
    return told(std::move(tag));
  }

  Store& store_;
  unsigned letter_ = 0;
  std::map<std::string, Tag> tags_;                 // Tag of the last write, by key.
  std::vector<s3::Upload> begun_;                   // Including ended uploads.
  std::map<std::string, std::map<int, Tag>> sent_;  // By upload ID.
};

std::string Listener::get(const Step& step) {
  s3::GetOptions options;
  if (step.a % 2 == 0) options.range = {{.first = step.b % 25, .count = 1 + step.b / 25 % 25}};
  if (step.c % 3 == 0) options.only_if = tag(step);
  std::string bytes;
  auto object = store_.get(key(step), options, [&](std::string_view piece) {
    bytes += piece;
    return true;
  });
  const std::size_t shown = std::min<std::size_t>(bytes.size(), 30);
  return told(std::move(object)) + " " + std::to_string(bytes.size()) + ":" +
         bytes.substr(bytes.size() - shown);
}

std::string Listener::begin(const Step& step) {
  s3::Metadata metadata;
  if (step.a % 2 == 0) metadata["n"] = std::to_string(step.b % 100);
  auto upload = store_.create_multipart(key(step), metadata);
  if (!upload) return told(upload.error());
  begun_.push_back(*upload);
  return "begun " + upload->key;
}

std::string Listener::send(const Step& step) {
  const s3::Upload to = upload(step);
  const int number = 1 + static_cast<int>(step.b % 3);
  auto tag = store_.upload_part(to, number, bytes(step));
  if (tag) sent_[to.id][number] = *tag;
  return told(std::move(tag));
}

std::string Listener::complete(const Step& step) {
  const s3::Upload of = upload(step);
  std::vector<s3::Part> parts;
  for (const auto& [number, tag] : sent_[of.id])
    if (step.a >> static_cast<unsigned>(number) & 7U) parts.push_back({number, tag});
  if (step.b % 8 == 0 && !parts.empty()) parts[step.c % parts.size()].tag = Tag{kNever};
  if (step.b % 8 == 1) std::ranges::reverse(parts);
  return remembered(of.key, store_.complete(of, parts, step.b % 3 == 0));
}

std::string Listener::list(const Step& step) {
  s3::ListOptions options{.prefix = kPrefixes[step.a % kPrefixes.size()]};
  options.count = 1 + static_cast<int>(step.b % 4);
  std::string out;
  for (int pages = 0; pages < 10; ++pages) {
    auto page = store_.list(options);
    if (!page) return out + told(page.error());
    for (const s3::Listed& object : page->objects)
      out += object.key + " " + std::to_string(object.size) + " " + object.tag.text + ", ";
    options.token = page->token;  // The last page may be empty, as in versitygw.
    if (options.token.empty()) return out;
  }
  return out + "without end";
}

std::string Listener::uploads(const Step& step) {
  auto found = store_.uploads(kPrefixes[step.a % kPrefixes.size()]);
  if (!found) return told(found.error());
  std::vector<std::string> names;  // IDs differ, and so does the order of equal keys.
  for (const s3::Upload& upload : *found) {
    const auto it = std::ranges::find(begun_, upload);
    names.push_back(upload.key + " " + std::to_string(it - begun_.begin()));
  }
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += name + ", ";
  return out;
}

std::string Listener::tell(const Step& step) {
  switch (step.act) {
    case Act::Put: {
      s3::PutOptions options{.only_if_absent = step.b % 3 == 0};
      if (step.c % 2 == 0) options.metadata["m"] = std::to_string(step.c % 100);
      return remembered(key(step), store_.put(key(step), bytes(step), options));
    }
    case Act::Get: return get(step);
    case Act::Head: return told(store_.head(key(step)));
    case Act::Remove: return told(store_.remove(key(step)));
    case Act::Begin: return begin(step);
    case Act::Send: return send(step);
    case Act::Complete: return complete(step);
    case Act::Abort: return told(store_.abort(upload(step)));
    case Act::List: return list(step);
    case Act::Uploads: return uploads(step);
    case Act::kCount: break;
  }
  check(false, "a known Act");
  return "";
}

const char* to_string(Act act) {
  constexpr std::array names = {"put",  "get",      "head",  "remove", "begin",
                                "send", "complete", "abort", "list",   "uploads"};
  return names.at(static_cast<std::size_t>(act));
}

/// Both stores, each with its own bucket for every story.
class Both {
 public:
  explicit Both(const std::string& program) : real_(make_real_stores(program)) {}
  /// The first step with different answers.
  std::optional<std::size_t> difference(const Story& story, bool print = false) {
    ++buckets_;
    const auto wanted = told_by(*real_, story), got = told_by(*simulated_, story);
    for (std::size_t i = 0; i < story.size(); ++i) {
      const bool same = wanted[i] == got[i];
      if (print)
        std::printf("%s %s %zu %llu %llu %llu\n  real:      %s\n%s%s%s", to_string(story[i].act),
                    kKeys[story[i].key], story[i].upload,
                    static_cast<unsigned long long>(story[i].a % 10'000),
                    static_cast<unsigned long long>(story[i].b % 10'000),
                    static_cast<unsigned long long>(story[i].c % 10'000), wanted[i].c_str(),
                    same ? "" : "  simulated: ", same ? "" : got[i].c_str(), same ? "" : "\n");
      if (!same) return i;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> told_by(Stores& stores, const Story& story) {
    const std::string bucket = "bucket-" + std::to_string(buckets_);
    stores.make_bucket(bucket);
    std::vector<std::string> out;
    stores.run([&] {
      const auto store = stores.as({}, bucket);
      Listener listener(*store);
      for (const Step& step : story) out.push_back(listener.tell(step));
    });
    stores.remove_bucket(bucket);  // Parts are large.
    return out;
  }

  const std::unique_ptr<Stores> real_, simulated_ = make_simulated_stores(1);
  std::uint64_t buckets_ = 0;
};

/// Removes steps that the difference does not need.
Story shrunk(Both& both, Story story, std::size_t end) {
  story.resize(end + 1);
  for (std::size_t i = story.size() - 1; i-- > 0;) {
    Story shorter = story;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    if (both.difference(shorter)) story = std::move(shorter);
  }
  return story;
}

int fuzz(const std::string& program, std::uint64_t seed, std::uint64_t operations) {
  Both both(program);
  sim::Dice dice(seed);
  for (std::uint64_t done = 0; done < operations; done += kStorySteps) {
    Story story;
    for (std::size_t i = 0; i < kStorySteps; ++i) story.push_back(draw_step(dice));
    if (const auto end = both.difference(story)) {
      std::printf("seed %llu: a difference; the shortest story found:\n",
                  static_cast<unsigned long long>(seed));
      (void)both.difference(shrunk(both, story, *end), true);
      return 1;
    }
  }
  if (::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed()) return 1;  // Misuse.
  std::printf("seed %llu: %llu calls, no difference\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(operations));
  return 0;
}

}  // namespace
}  // namespace etcdop::contract

int main(int argc, char** argv) {
  std::string program;
  std::uint64_t seed = 1, operations = 3000;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--program=")) program = word.substr(10);
    if (word.starts_with("--seed=")) seed = std::stoull(word.substr(7));
    if (word.starts_with("--operations=")) operations = std::stoull(word.substr(13));
  }
  if (program.empty()) {
    std::fprintf(stderr, "usage: s3_fuzz --program=FILE [--seed=N] [--operations=N]\n");
    return 2;
  }
  return etcdop::contract::fuzz(program, seed, operations);
}
