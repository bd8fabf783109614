// Programs that a contract test runs.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace etcdop::contract {

/// A process of ours; its output goes to the end of a file. It dies with this one.
class Process {
 public:
  Process(std::vector<std::string> command, const std::string& output);
  ~Process() { kill(); }
  Process(const Process&) = delete;
  void kill();
  /// SIGTERM.
  void terminate();
  /// The exit status once it has ended, or nothing.
  std::optional<int> ended();
  int wait();

 private:
  pid_t pid_ = 0;
  int status_ = 0;
};

std::string read_file(const std::string& path);
/// An empty one below the folder for such things.
std::string new_folder();

}  // namespace etcdop::contract
