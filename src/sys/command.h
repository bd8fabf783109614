// Runs another program to its end, without a shell, while other fibers go on.
#pragma once
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "base/result.h"
#include "base/secret.h"

namespace etcdop {

struct Command {
  std::string program;                 ///< A path if it has a '/', else looked up in our PATH.
  std::vector<std::string> args = {};  ///< Without the program's own name.
  std::map<std::string, std::string> env = {};  ///< Added to our own environment; wins over it.
  Duration limit = std::chrono::seconds(30);
  std::size_t output_limit = 1 << 20;  ///< Limit of its standard output, in bytes.
};

constexpr std::size_t kCommandErrorMax = 1024;

struct CommandOutput {
  int exit_code = 0;
  int signal = 0;  ///< The signal that killed it; 0: it ended by itself.
  Secret out;      ///< Standard output: it may be a credential.
  /// The end of its standard error in one line, at most kCommandErrorMax bytes.
  std::string err_end;
};

/// Suspends until the program has ended. Its standard input is empty, and it inherits none of our
/// files. It leads its own process group. The group is killed if `limit`, the fiber's deadline or
/// its cancellation comes first. No process of the group stays unreaped.
///
/// A program that ran is a success, whatever its exit code. Errors, which name the program:
/// NotFound; Denied: we may not execute it; Invalid: over `output_limit`, or a text with a NUL;
/// Unavailable: the kernel has no process for us; TimedOut; Cancelled.
Result<CommandOutput> run_command(Executor&, const Command&);

/// Whether `path` is a file that this process may execute.
bool is_program(const std::string& path);

}  // namespace etcdop
