// replay: shows what today's plan would have done on the observations recorded in these files.
// `./dev replay` calls it; see docs/dev/adr/0010-flight-recorder.md.
#include <cstdio>
#include <fstream>
#include <string>

#include "operator/replay.h"

namespace etcdop {
namespace {

constexpr const char* kUsage =
    "usage: replay FILE...\n"
    "Each FILE has JSON lines from a flight recorder: /debug/flight of the manager, or flight-SEED"
    ".jsonl\nof ./dev sim --trace. Today's plan runs on each observation. Exit code 0: every plan "
    "is as it was\nrecorded; 1: one differs, or a line cannot be read.\n";

struct Count {
  unsigned long long pairs = 0, differ = 0, unreadable = 0;
};

void run_line(const std::string& line, FlightReader& reader, const std::string& where,
              Count& count) {
  auto pair = reader.read(line);
  auto replayed = pair ? replay(*pair) : Result<Replayed>(pair.error());
  if (!replayed) {
    ++count.unreadable;
    std::printf("%s: %s\n", where.c_str(), replayed.error().message.c_str());
    return;
  }
  ++count.pairs;
  if (!replayed->differences.empty()) ++count.differ;
  const json::object& seen = pair->observation.as_object();
  const Json* now = seen.if_contains("now");
  std::printf("%s: %s %s %s: %s, %s\n", where.c_str(),
              now && now->is_string() ? now->as_string().c_str() : "", pair->kind.c_str(),
              pair->object.c_str(), replayed->step.c_str(),
              replayed->differences.empty() ? "the same" : "DIFFERS");
  for (const std::string& difference : replayed->differences)
    std::printf("    %s\n", difference.c_str());
}

bool run_file(const std::string& name, Count& count) {
  std::ifstream in(name);
  if (!in) {
    std::fprintf(stderr, "replay: cannot open %s\n", name.c_str());
    return false;
  }
  FlightReader reader;
  unsigned long long number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = name + ":" + std::to_string(++number);
    if (!line.empty()) run_line(line, reader, where, count);
  }
  return true;
}

}  // namespace
}  // namespace etcdop

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fputs(etcdop::kUsage, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  etcdop::Count count;
  bool opened = true;
  for (int i = 1; i < argc; ++i) opened &= etcdop::run_file(argv[i], count);
  std::printf("%llu pairs, %llu differ, %llu lines unreadable\n", count.pairs, count.differ,
              count.unreadable);
  return opened && count.pairs > 0 && count.differ + count.unreadable == 0 ? 0 : 1;
}
