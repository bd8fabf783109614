#include "test/contract/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"

namespace etcdop::contract {

Process::Process(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  check(pid_ >= 0, "fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(log, 1);
  dup2(log, 2);
  execv(argv[0], argv.data());
  _exit(127);
}

void Process::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  (void)wait();
}

void Process::terminate() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

std::optional<int> Process::ended() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
  if (pid_ > 0) return std::nullopt;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

int Process::wait() {
  if (pid_ > 0) waitpid(std::exchange(pid_, 0), &status_, 0);
  return *ended();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // In blocks: an etcd log has 64 MB, which takes seconds byte by byte.
  return std::move(text).str();
}

std::string new_folder() {
  std::string pattern = std::filesystem::temp_directory_path() / "etcd-contract-XXXXXX";
  check(mkdtemp(pattern.data()) != nullptr, "a folder of our own");
  return pattern;
}

}  // namespace etcdop::contract
