// Sends the same random requests to a real API server and to the simulated one, and compares
// answers and watches; UIDs, versions and times are replaced by their names in the story.
//   kube_fuzz --kubeconfig=FILE [--seed=N] [--operations=N]
// On a difference it prints the shortest sequence of requests that it found, and exits with 1.
#include <charconv>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kube/core_types.h"
#include "kube/request.h"
#include "kube/typed.h"
#include "test/contract/kube_servers.h"
#include "test/contract/kube_story.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;
using api::Resource;
using kube::Call;
using kube::Verb;
using kube::WatchEvent;

constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace"};
constexpr const char* kInvalid = " is invalid: ";
constexpr const char* kLast = "zzz-last";
constexpr const char* kNotOurs = "kube-root-ca.crt";  // A controller creates it in each namespace.

// --- The answers of one server

/// Tells a story to one server and writes down what comes back.
class Listener {
 public:
  Listener(KubeServer& server, std::string ns) : server_(server), ns_(std::move(ns)) {}

  /// `expected`: the other server's answers; it waits until a settling step answers the same.
  std::vector<std::string> listen(const Story& story,
                                  const std::vector<std::string>* expected = nullptr) {
    begin();
    std::vector<std::string> out;
    for (const Step& step : story) {
      if (step.settles && !expected) (void)server_.executor().sleep(250ms);
      out.push_back(answer_to(step.call));
      for (int i = 0;
           step.settles && expected && i < 1500 && out.back() != (*expected)[out.size() - 1]; ++i) {
        (void)server_.executor().sleep(20ms);
        out.back() = answer_to(step.call);
      }
    }
    for (const Resource& kind : story_kinds()) last(kind);
    for (const Resource& kind : story_kinds())
      for (const char* selector : {"", "l=1", "l!=1"}) out.push_back(watched(kind, selector));
    end();
    return out;
  }

 private:
  Call on(Verb verb, const Resource& kind) const {
    Call call;
    call.verb = verb;
    call.resource = kind;
    call.ns = ns_;
    return call;
  }

  static Json a_pod(const char* name) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}, {"labels", {{"l", "1"}}}}},
            {"spec",
             {{"automountServiceAccountToken", false},
              {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  }
  void begin() {
    Call make = on(Verb::Create, kNamespaces);
    make.ns.clear();
    make.body = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}};
    auto made = server_.api().call(make);
    check(bool(made), made ? "" : made.error().message.c_str());
    Call look = on(Verb::Get, story_kinds()[0]);
    look.name = kNotOurs;
    for (int i = 0; i < 2000 && !server_.api().call(look); ++i)
      (void)server_.executor().sleep(20ms);
    for (const char* name : {"one", "two", "gone"}) {
      Call owner = on(Verb::Create, story_kinds()[0]);
      owner.body = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
      auto there = server_.api().call(owner);
      check(bool(there), there ? "" : there.error().message.c_str());
      const std::string uid = text(there->at("metadata").as_object(), "uid");
      owners_[std::string("@owner-") + name] = uid;
      symbols_[uid] = name;
    }
    Call pod = on(Verb::Create, kube::Pod::resource);  // Pods need a service account.
    pod.body = a_pod("gone");
    for (int i = 0; i < 2000 && !server_.api().call(pod); ++i) (void)server_.executor().sleep(20ms);
    pod = on(Verb::Delete, kube::Pod::resource);
    pod.name = "gone";
    check(bool(server_.api().call(pod)), "it was there");
    Call gone =
        on(Verb::Delete, story_kinds()[0]);  // The story starts at a version without an object.
    gone.name = "gone";
    check(bool(server_.api().call(gone)), "it was there");
    auto all = server_.api().call(on(Verb::List, story_kinds()[0]));
    check(bool(all), all ? "" : all.error().message.c_str());
    start_ = std::string(all->at("metadata").at("resourceVersion").as_string());
  }
  void end() {
    Call gone = on(Verb::Delete, kNamespaces);
    gone.name = std::exchange(gone.ns, "");
    (void)server_.api().call(gone);
    for (const Resource& kind : story_kinds())
      for (const char* name : {"a", "b", "c"}) {
        Call free = on(Verb::Patch, kind);
        free.name = name;
        free.body = {{"metadata", {{"finalizers", nullptr}}}};
        (void)server_.api().call(free);
      }
    for (const char* name : {"a", "b", "c", "d"}) {
      Call end = on(Verb::Delete, kube::Pod::resource);
      end.name = name;
      end.body = {{"gracePeriodSeconds", 0}};
      (void)server_.api().call(end);
    }
  }
  /// Creates an object that is always valid, so that a watch knows when to end.
  void last(const Resource& kind) {
    Call make = on(Verb::Create, kind);
    make.body = {{"apiVersion", api::api_version(kind)},
                 {"kind", kind.kind},
                 {"metadata", {{"name", kLast}, {"labels", {{"l", "1"}}}}}};
    const std::string word = kind.kind;
    if (word.starts_with("Etcd"))
      make.body.as_object()["spec"] = {{"clusterName", "c"},
                                       {"version", "3.6.16"},
                                       {"clusterToken", "t"},
                                       {"initialCluster", ""},
                                       {"storage", {{"size", "1Gi"}}}};
    if (word == "Service")
      make.body.as_object()["spec"] = {{"clusterIP", "None"}, {"ports", {{{"port", 2379}}}}};
    if (word == "Pod") make.body = a_pod(kLast);
    for (const char* value : {"1", "2"}) {  // Matches every selection once.
      auto made = server_.api().call(make);
      check(bool(made), made ? "" : made.error().message.c_str());
      if (make.verb == Verb::Patch) break;
      make.verb = Verb::Patch;
      make.name = kLast;
      make.body = {{"metadata", {{"labels", {{"l", "2"}}}}}};
      (void)value;
    }
  }

  struct Known {
    std::deque<std::string> uids, versions;  ///< Newest first.
  };
  Known& known(const Call& call, const std::string& name) {
    return known_[std::string(call.resource.plural) + "/" + name];
  }
  static std::string nth(const std::deque<std::string>& all, std::size_t n, const char* otherwise) {
    return n < all.size() ? all[n] : otherwise;
  }
  std::string filled(const Call& call, const std::string& name, const std::string& word) {
    const std::size_t colon = word.find(':');
    Known& about = known(call, colon == word.npos ? name : word.substr(colon + 1));
    if (const auto owner = owners_.find(word); owner != owners_.end()) return owner->second;
    if (word.starts_with("@uid"))
      return nth(about.uids, std::size_t(word[4] - '0'), "00000000-0000-0000-0000-000000000000");
    if (word.starts_with("@rv"))
      return nth(about.versions, std::size_t(word[3] - '0'), start_.c_str());
    return word;
  }
  void fill(const Call& call, const std::string& name, Json& value) {
    if (value.is_string()) value = filled(call, name, std::string(value.get_string()));
    if (auto* object = value.if_object())
      for (auto& field : *object) fill(call, name, field.value());
    if (auto* list = value.if_array())
      for (Json& item : *list) fill(call, name, item);
  }

  std::string answer_to(Call call) {
    call.ns = ns_;
    std::string name = call.name;
    if (call.verb == Verb::Create) name = text(call.body.at("metadata").as_object(), "name");
    fill(call, name, call.body);
    for (auto& [key, value] : call.query) value = filled(call, name, value);
    if (call.verb == Verb::List) return pages(std::move(call));
    return told(server_.api().call(call));
  }
  std::string pages(Call call) {
    std::string out;
    for (int page = 0; page < 20; ++page) {
      auto answer = server_.api().call(call);
      if (!answer) return out + told(answer);
      json::object& metadata = answer->at("metadata").as_object();
      out += "page";
      for (Json& item : answer->at("items").as_array()) out += " " + shown(std::move(item));
      if (const Json* left = metadata.if_contains("remainingItemCount"))
        out += " and " + json::serialize(*left) + " more";
      if (call.query.contains("resourceVersion"))
        out += " of " + symbol(text(metadata, "resourceVersion"));
      const std::string next = text(metadata, "continue");
      if (next.empty()) return out;
      call.query["continue"] = next;
      call.query.erase("resourceVersion");
      call.query.erase("resourceVersionMatch");
      out += "; ";
    }
    return out + "without end";
  }

  std::string watched(const Resource& kind, const std::string& selector) {
    Call call = on(Verb::Watch, kind);
    call.query = {{"resourceVersion", start_}, {"timeoutSeconds", "10"}};
    if (!selector.empty()) call.query["labelSelector"] = selector;
    std::string out = "watch " + std::string(kind.plural) + " " + selector;
    auto ended = server_.api().watch(call, [&](WatchEvent event) {
      if (event.type == WatchEvent::Type::Bookmark) return true;
      const std::string name = text(event.object.at("metadata").as_object(), "name");
      if (name == kNotOurs) return true;
      constexpr const char* kMarks[] = {"+", "~", "-"};
      out += std::string("\n    ") + kMarks[int(event.type)] + shown(std::move(event.object));
      // The last object loses its first label at once.
      const bool ends = selector.empty()    ? event.type == WatchEvent::Type::Modified
                        : selector == "l=1" ? event.type == WatchEvent::Type::Deleted
                                            : event.type == WatchEvent::Type::Added;
      return !(name == kLast && ends);
    });
    return ended ? out : out + "\n    " + told(ended.error());
  }

  static std::string text(const json::object& object, const char* key) {
    const Json* value = object.if_contains(key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  }
  /// A word's number in order of appearance.
  std::string symbol(const std::string& word) {
    if (word == start_) return "start";
    const auto found = symbols_.find(word);
    if (found != symbols_.end()) return found->second;
    return symbols_[word] = "#" + std::to_string(symbols_.size());
  }
  void learn(const json::object& object) {
    const json::object& metadata = object.at("metadata").as_object();
    const auto plural = [&] {
      for (const Resource& kind : story_kinds())
        if (text(object, "kind") == kind.kind) return std::string(kind.plural);
      return std::string();
    }();
    if (plural.empty()) return;
    Known& about = known_[plural + "/" + text(metadata, "name")];
    const auto add = [](std::deque<std::string>& all, const std::string& value) {
      if (std::ranges::find(all, value) == all.end()) all.push_front(value);
    };
    add(about.uids, text(metadata, "uid"));
    add(about.versions, text(metadata, "resourceVersion"));
  }
  /// Without parts that differ by nature, in one order.
  std::string shown(Json object) {
    json::object& metadata = object.at("metadata").as_object();
    metadata.erase("managedFields");
    only_what_is_modelled(object.as_object());
    if (text(metadata, "name") == kNotOurs) return kNotOurs;
    if (Json* uid = metadata.if_contains("uid")) *uid = symbol(text(metadata, "uid"));
    if (Json* version = metadata.if_contains("resourceVersion"))
      *version = symbol(text(metadata, "resourceVersion"));
    if (Json* owners = metadata.if_contains("ownerReferences"))
      for (Json& owner : owners->as_array())
        owner.at("uid") = "of " + text(owner.as_object(), "name");
    for (const char* time : {"creationTimestamp", "deletionTimestamp"})
      if (Json* there = metadata.if_contains(time)) *there = "T";
    return sorted(object);
  }
  static void keep(json::object& object, const char* field, std::set<std::string_view> words) {
    Json* const there = object.if_contains(field);
    if (!there || !there->is_object()) return;
    json::object kept;
    for (const auto& [key, value] : there->get_object())
      if (words.contains(std::string_view(key))) kept[key] = value;
    *there = std::move(kept);
  }
  /// Reduces kinds of which we use a few fields.
  static void only_what_is_modelled(json::object& object) {
    const std::string kind = text(object, "kind");
    json::object& metadata = object.at("metadata").as_object();
    const Json* const spec = object.if_contains("spec");
    const auto has = [&](const char* field) {
      return spec && spec->is_object() && spec->get_object().contains(field);
    };
    if (kind == "Service" || (kind.empty() && has("clusterIP"))) {
      keep(object, "spec", {"clusterIP", "publishNotReadyAddresses"});
      object.erase("status");
    } else if (kind == "Pod" || (kind.empty() && has("containers"))) {
      metadata.erase("generation");
      keep(object, "spec", {"nodeName"});
      keep(object, "status", {"phase", "conditions"});
      if (Json* status = object.if_contains("status"))
        if (Json* conditions = status->as_object().if_contains("conditions"))
          for (Json& one : conditions->as_array())
            for (const char* time : {"lastProbeTime", "lastTransitionTime"})
              one.as_object().erase(time);
    } else if (kind == kBudgets.kind) {
      metadata.erase("resourceVersion");
      keep(object, "status",
           {"observedGeneration", "disruptionsAllowed", "currentHealthy", "desiredHealthy",
            "expectedPods", "disruptedPods"});
      if (Json* status = object.if_contains("status"))
        if (Json* evicted = status->as_object().if_contains("disruptedPods"))
          for (auto& pod : evicted->as_object()) pod.value() = "T";
    }
  }
  static std::string sorted(const Json& value) {
    if (const auto* object = value.if_object()) {
      std::map<std::string, std::string> fields;
      for (const auto& [key, field] : *object) fields[key] = sorted(field);
      std::string out = "{";
      for (const auto& [key, field] : fields)
        out += (out.size() == 1 ? "" : ",") + key + ":" + field;
      return out + "}";
    }
    if (const auto* list = value.if_array()) {
      std::string out = "[";
      for (const Json& item : *list) out += (out.size() == 1 ? "" : ",") + sorted(item);
      return out + "]";
    }
    return json::serialize(value);
  }
  std::string told(Result<Json> answer) {
    if (!answer) return told(answer.error());
    const json::object& object = answer->as_object();
    if (text(object, "kind") == "Status") {
      Json status = object;
      if (Json* details = status.as_object().if_contains("details"))
        details->as_object()["uid"] = symbol(text(details->as_object(), "uid"));
      return sorted(status);
    }
    learn(object);
    return shown(*answer);
  }
  /// Conflicts are listed in the order of UIDs.
  static std::string in_order(const std::string& message) {
    std::set<std::string> fields;
    std::string out;
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("- ")) fields.insert(line);
      else out += line + "\n";
    for (const std::string& field : fields) out += field + "\n";
    return out;
  }
  std::string told(const Error& error) {
    static const std::regex when(" at [-0-9]+T[:0-9]+Z"),
        number("[0-9a-f]{8}-[-0-9a-f]{27}|[0-9]{3,}");
    std::string message = std::regex_replace(error.message, when, ""), out;
    // The two servers word schema violations differently.
    for (const char* start : {"[", "spec.", "status.", "metadata.name", "metadata.uid"})
      if (const std::size_t at_fields = message.find(std::string(kInvalid) + start);
          at_fields != message.npos)
        message.resize(at_fields + std::string_view(kInvalid).size());
    auto at = std::sregex_iterator(message.begin(), message.end(), number);
    std::size_t done = 0;
    for (; at != std::sregex_iterator(); ++at) {
      out += message.substr(done, std::size_t(at->position()) - done) + symbol(at->str());
      done = std::size_t(at->position() + at->length());
    }
    return "error " + std::to_string(int(error.code)) + " " + in_order(out + message.substr(done));
  }

  KubeServer& server_;
  const std::string ns_;
  std::string start_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::string> symbols_, owners_;
};

// --- Differences

std::string shown(const Call& call) {
  std::string out = std::string(kube::to_string(call.verb)) + " " + call.resource.plural;
  if (!call.subresource.empty()) out += "/" + call.subresource;
  if (!call.name.empty()) out += " " + call.name;
  constexpr const char* kPatches[] = {" merge", " json", " apply"};
  if (call.verb == Verb::Patch) out += kPatches[int(call.patch)];
  for (const auto& [key, value] : call.query) out += " " + key + "=" + value;
  if (!call.body.is_null()) out += " " + json::serialize(call.body);
  return out;
}

class Fuzz {
 public:
  explicit Fuzz(const std::string& kubeconfig) : real_(kubeconfig) {}

  /// The first difference; nullopt: none.
  struct Difference {
    std::size_t at;
    std::string real, simulated;
  };
  std::optional<Difference> differ(const Story& story) {
    const std::string ns = "fuzz-" + std::to_string(started_) + "-" + std::to_string(++stories_);
    std::vector<std::string> simulated, real;
    const auto fake = make_simulated_kube();
    fake->run([&] { simulated = Listener(*fake, ns).listen(story); });
    real_.run([&] { real = Listener(real_, ns).listen(story, &simulated); });
    for (std::size_t i = 0; i < real.size(); ++i)
      if (real[i] != simulated[i]) return Difference{i, real[i], simulated[i]};
    return std::nullopt;
  }

  /// Removes steps that the difference does not need.
  Story shrunk(Story story, Difference difference) {
    if (difference.at < story.size()) story.resize(difference.at + 1);
    for (std::size_t part = story.size() / 2; part > 0; part /= 2)
      for (std::size_t from = 0; from + part <= story.size();) {
        Story shorter = story;
        shorter.erase(shorter.begin() + std::ptrdiff_t(from),
                      shorter.begin() + std::ptrdiff_t(from + part));
        if (differ(shorter)) story = std::move(shorter);
        else from += part;
      }
    return story;
  }

 private:
  RealKube real_;
  const std::uint64_t started_ = OsRandom().next() % 1000000;
  std::uint64_t stories_ = 0;
};

int run(const std::string& kubeconfig, std::uint64_t seed, std::uint64_t operations) {
  Fuzz fuzz(kubeconfig);
  std::printf("kube_fuzz: --seed=%llu\n", static_cast<unsigned long long>(seed));
  std::uint64_t done = 0;
  for (; done < operations; done += kStepsMax, ++seed) {
    const Story story = tell(seed);
    const auto difference = fuzz.differ(story);
    if (!difference || !fuzz.differ(story)) continue;  // A busy machine's does not come again.
    const Story shortest = fuzz.shrunk(story, *difference);
    std::printf("a difference, of seed %llu:\n", static_cast<unsigned long long>(seed));
    for (const Step& step : shortest) std::printf("  %s\n", shown(step.call).c_str());
    const auto last = fuzz.differ(shortest).value_or(*difference);
    std::printf("real      %s\nsimulated %s\n", last.real.c_str(), last.simulated.c_str());
    return 1;
  }
  std::printf("%llu operations, no difference\n", static_cast<unsigned long long>(done));
  return 0;
}

}  // namespace
}  // namespace etcdop::contract

int main(int argc, char** argv) {
  std::string kubeconfig;
  std::uint64_t seed = 1, operations = 3000;
  const auto number = [](const std::string& text, std::uint64_t& out) {
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
  };
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--kubeconfig=")) kubeconfig = word.substr(13);
    else if (word.starts_with("--seed=")) good = good && number(word.substr(7), seed);
    else if (word.starts_with("--operations=")) good = good && number(word.substr(13), operations);
    else good = false;
  }
  if (!good || kubeconfig.empty()) {
    std::fprintf(stderr, "usage: kube_fuzz --kubeconfig=FILE [--seed=N] [--operations=N]\n");
    return 2;
  }
  return etcdop::contract::run(kubeconfig, seed, operations);
}
