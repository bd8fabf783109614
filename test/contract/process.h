// Programs that a contract test runs.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace etcdop::contract {

/// A child process; its output is appended to a file. It dies with this process.
class Process {
 public:
  Process(std::vector<std::string> command, const std::string& output);
  ~Process() { kill(); }
  Process(const Process&) = delete;
  void kill();
  /// SIGTERM.
  void terminate();
  /// The exit status once it has ended, else nullopt.
  std::optional<int> ended();
  int wait();

 private:
  pid_t pid_ = 0;
  int status_ = 0;
};

std::string read_file(const std::string& path);
/// A new empty folder below the folder for such things.
std::string new_folder();

}  // namespace etcdop::contract
