// sim: runs simulated worlds by seed. `./dev sim` calls it; see docs/dev/testing.md.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/page.h"
#include "sim/world/plans.h"
#include "sim/world/run.h"
#include "sim/world/shrink.h"

namespace {

using namespace etcdop;
using namespace etcdop::sim;

constexpr const char* kUsage =
    "usage: sim [--seeds A..B] [--every N] [--faults LIST] [--trouble SECONDS] [--trace] [--hash] "
    "[--brief]\n"
    "  --seeds A..B   from A to B, both included; one number is one seed (default 1..100)\n"
    "  --every N      every N-th of them, from the first\n"
    "  --faults LIST  these faults instead of those that a seed draws: a,b,c, all or none\n"
    "  --trouble S    how many seconds things go wrong before they heal\n"
    "  --trace        prints what happened, and makes an HTML page of it\n"
    "  --brief        of a world that fails, one line\n"
    "  --commit TEXT  printed with what fails\n"
    "  --hash         prints a line with the hash of each seed's trace\n"
    "       sim --plans [--from N] [--every N] [--only TEXT] [--skip TEXT] [--trace]\n"
    "  --plans        crash plans: each write of each flow, caught in nine ways\n"
    "  --from N       from the N-th on, counted from 0\n"
    "  --only TEXT    those whose name has TEXT\n"
    "  --skip TEXT    not those whose name begins so\n";

struct Wanted {
  std::uint64_t from = 1, to = 100, every = 1;
  Run run;
  bool hash = false, plans = false, brief = false;
  std::uint64_t first = 0;
  std::string only, skip;
  std::string commit = "unknown";
  std::string folder;  // Next to this program, for pages and plans.
};

std::uint64_t running = 0;  // The seed that runs, for the abort message.

void on_abort(int) {
  char text[64];
  const int n = std::snprintf(text, sizeof text, "aborted in seed %llu\n",
                              static_cast<unsigned long long>(running));
  std::fwrite(text, 1, static_cast<std::size_t>(n), stderr);
  std::_Exit(3);
}

std::optional<std::uint64_t> number(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t out = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') return std::nullopt;
  return out;
}

/// Nullopt: wrong usage, already reported.
std::optional<Wanted> parse(const std::vector<std::string>& words) {
  Wanted out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& flag = words[i];
    if (flag == "--trace") {
      out.run.keep_trace = true;
      continue;
    }
    if (flag == "--plans") {
      out.plans = true;
      continue;
    }
    if (flag == "--brief") {
      out.brief = true;
      continue;
    }
    if (flag == "--hash") {
      out.hash = true;
      continue;
    }
    if (i + 1 == words.size()) {
      std::fputs(kUsage, stderr);
      return std::nullopt;
    }
    const std::string& value = words[++i];
    std::optional<std::uint64_t> n = number(value);
    if (flag == "--faults") {
      auto faults = Faults::parse(value);
      if (!faults) {
        std::fprintf(stderr, "sim: --faults: %s\n", faults.error().message.c_str());
        return std::nullopt;
      }
      out.run.faults = *faults;
    } else if (flag == "--seeds") {
      const std::size_t dots = value.find("..");
      const auto a = number(value.substr(0, dots));
      const auto b = dots == value.npos ? a : number(value.substr(dots + 2));
      if (!a || !b || *a > *b) {
        std::fprintf(stderr, "sim: --seeds: \"%s\" is not A..B\n", value.c_str());
        return std::nullopt;
      }
      out.from = *a;
      out.to = *b;
    } else if (flag == "--commit") {
      out.commit = value;
    } else if (flag == "--only") {
      out.only = value;
    } else if (flag == "--skip") {
      out.skip = value;
    } else if (flag == "--from" && n) {
      out.first = *n;
    } else if (flag == "--every" && n && *n > 0) {
      out.every = *n;
    } else if (flag == "--trouble" && n && *n <= 100'000) {
      out.run.trouble = std::chrono::seconds(*n);
    } else {
      std::fputs(kUsage, stderr);
      return std::nullopt;
    }
  }
  return out;
}

void print(const std::vector<Trace::Line>& lines) {
  for (const Trace::Line& line : lines)
    std::printf("%s %-12s %s\n", seconds_text(line.when).c_str(), line.who.c_str(),
                line.what.c_str());
}

/// Everything that was done to the world, and the last lines.
std::vector<Trace::Line> end_of(const std::vector<Trace::Line>& all) {
  constexpr std::size_t kLast = 60;
  std::vector<Trace::Line> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i + kLast >= all.size() || all[i].who == "user" || all[i].who == "fault")
      out.push_back(all[i]);
  return out;
}

bool write_file(const std::string& name, const std::string& text) {
  std::FILE* const file = std::fopen(name.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed) std::fprintf(stderr, "sim: cannot write %s\n", name.c_str());
  return written && closed;
}

/// For a run with a trace: a page to look at, and what its operators saw and planned.
void write_files(const RunOutcome& how, const std::string& folder) {
  const std::string name = folder + "seed-" + std::to_string(how.seed);
  if (write_file(name + ".html", page(how))) std::printf("  page:    %s.html\n", name.c_str());
  if (write_file(name + ".jsonl", how.flight))
    std::printf("  plans:   ./dev replay %s.jsonl\n", name.c_str());
}

void report(const Run& failing, const RunOutcome& how, const Wanted& wanted) {
  std::printf("seed %llu: %s: %s\n  at %s s, faults: %s\n",
              static_cast<unsigned long long>(how.seed), how.violation->invariant.c_str(),
              how.violation->what.c_str(), seconds_text(how.violation->when).c_str(),
              how.faults.text().c_str());
  std::fflush(stdout);
  if (wanted.brief) return;
  Run small = shrink(failing, how, [](const RunOutcome&) {});
  small.keep_trace = true;
  const RunOutcome shrunk = run(small);
  const long long trouble = small.trouble / std::chrono::seconds(1);
  if (shrunk.violation)
    std::printf("  smaller: %s: %s\n", shrunk.violation->invariant.c_str(),
                shrunk.violation->what.c_str());
  std::printf("  commit:  %s\n", wanted.commit.c_str());
  std::printf("  repeat:  ./dev sim --seed %llu --faults %s --trouble %lld --trace\n",
              static_cast<unsigned long long>(how.seed), small.faults->text().c_str(), trouble);
  write_files(shrunk, wanted.folder);
  print(end_of(shrunk.trace));
  std::fflush(stdout);
}

int run_plans(const Wanted& wanted) {
  const std::vector<Flow> all = flows();
  std::uint64_t nth = 0, passed = 0, failed = 0;
  for (std::size_t flow = 0; flow < all.size(); ++flow) {
    const PlanOutcome undisturbed = run(all[flow], std::nullopt, wanted.run.keep_trace);
    if (!undisturbed.failure.empty()) {
      std::printf("%s, undisturbed: %s\n", all[flow].name.c_str(), undisturbed.failure.c_str());
      if (wanted.run.keep_trace) print(undisturbed.trace);
      ++failed;
      continue;
    }
    for (const Plan& plan : plans_of(all, flow)) {
      const std::string name = to_string(all[flow], plan);
      if (nth++ % wanted.every != wanted.first % wanted.every) continue;
      if (name.find(wanted.only) == name.npos) continue;
      if (!wanted.skip.empty() && name.starts_with(wanted.skip)) continue;
      const PlanOutcome outcome = run(all[flow], plan, wanted.run.keep_trace);
      const std::string wrong = compare(plan, outcome, undisturbed);
      ++(wrong.empty() ? passed : failed);
      if (!wrong.empty())
        std::printf("%s (%s): %s\n", name.c_str(), outcome.what.c_str(), wrong.c_str());
      if (wanted.run.keep_trace) print(outcome.trace);
    }
  }
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, on_abort);
  auto wanted = parse({argv + 1, argv + argc});
  if (!wanted) return 2;
  const std::string program = argv[0];
  wanted->folder = program.substr(0, program.rfind('/') + 1);
  if (wanted->plans) return run_plans(*wanted);
  std::uint64_t seeds = 0, failed = 0, events = 0, writes = 0, operations = 0;
  double lasted = 0;
  for (std::uint64_t seed = wanted->from; seed <= wanted->to; seed += wanted->every) {
    Run one = wanted->run;
    one.seed = running = seed;
    const RunOutcome outcome = run(one);
    ++seeds;
    events += outcome.events;
    writes += outcome.writes;
    operations += outcome.operations;
    lasted += std::chrono::duration<double>(outcome.lasted).count();
    if (wanted->run.keep_trace) {
      print(outcome.trace);
      write_files(outcome, wanted->folder);
    }
    if (wanted->hash)
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(outcome.hash));
    if (!outcome.violation) continue;
    ++failed;
    if (!wanted->run.keep_trace) report(one, outcome, *wanted);
    else
      std::printf("%s: %s\n", outcome.violation->invariant.c_str(),
                  outcome.violation->what.c_str());
  }
  std::printf(
      "%llu seeds, %.0f hours lived, %llu events, %llu writes, %llu operations of clients\n",
      static_cast<unsigned long long>(seeds), lasted / 3600,
      static_cast<unsigned long long>(events), static_cast<unsigned long long>(writes),
      static_cast<unsigned long long>(operations));
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(seeds - failed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
