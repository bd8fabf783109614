#include "sys/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

extern char** environ;

namespace etcdop {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPauseMin = 1ms, kPauseMax = 20ms;
constexpr Duration kReapLimit = 5s;  // After SIGKILL.
/// Reads of one turn: more than a pipe holds (64 KiB), so the last turn misses nothing. Bounded,
/// whatever the child writes.
constexpr int kReadsMax = 64;

/// A pipe: we read without waiting, the child writes.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
    else (void)fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    shut(ends_[0]);
    shut(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  bool open() const { return ends_[0] >= 0; }
  int write_end() const { return ends_[1]; }
  void close_write_end() { shut(ends_[1]); }
  /// Passes on the bytes that have arrived; stops early if `take` returns false.
  template <class Take>
  void drain(Take take) {
    char piece[8 * 1024];
    for (int i = 0; i < kReadsMax; ++i) {
      const ssize_t n = read(ends_[0], piece, sizeof piece);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || !take(std::string_view(piece, static_cast<std::size_t>(n)))) return;
    }
  }

 private:
  static void shut(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  int ends_[2];
};

/// The settings for posix_spawn: standard files and signals.
class Arrangement {
 public:
  Arrangement(const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files_, out.write_end(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files_, err.write_end(), STDERR_FILENO);
    // Asio opens sockets without O_CLOEXEC.
    posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int ignored : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, ignored);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~Arrangement() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Arrangement(const Arrangement&) = delete;
  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// Our environment with the additions, as "NAME=value".
std::vector<std::string> environment_with(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> out;
  for (char** each = environ; each && *each; ++each) {
    const std::string_view entry = *each;
    if (!additions.contains(std::string(entry.substr(0, entry.find('='))))) out.emplace_back(entry);
  }
  for (const auto& [name, value] : additions) out.push_back(name + "=" + value);
  return out;
}

/// The form that execve() wants. The texts must outlive it.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

bool has_nul(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(),
                     [](const auto& t) { return t.find('\0') != std::string::npos; });
}

Error failure(const std::string& doing, int number) {
  const Code code = number == ENOENT                        ? Code::NotFound
                    : number == EACCES || number == ENOEXEC ? Code::Denied
                                                            : Code::Unavailable;
  return {code, doing + ": " + std::strerror(number)};
}

Result<pid_t> start(const std::string& doing, const Command& command, const Pipe& out,
                    const Pipe& err) {
  std::vector<std::string> words{command.program};
  words.insert(words.end(), command.args.begin(), command.args.end());
  std::vector<std::string> environment = environment_with(command.env);
  if (has_nul(words) || has_nul(environment))
    return Error{Code::Invalid, doing + ": a NUL can be neither in words nor in the environment"};
  if (!out.open() || !err.open()) return failure(doing, EMFILE);
  const Arrangement arrangement(out, err);
  pid_t pid = 0;
  const int number =
      posix_spawnp(&pid, command.program.c_str(), arrangement.files(), arrangement.attributes(),
                   pointers(words).data(), pointers(environment).data());
  if (number != 0) return failure(doing, number);
  return pid;
}

/// Appends `piece` and keeps only the end of the text.
void add_to_end(std::string& end, std::string_view piece) {
  end += piece;
  if (end.size() > kCommandErrorMax) end.erase(0, end.size() - kCommandErrorMax);
}

/// One line, without half a UTF-8 character at its beginning.
std::string one_line(std::string text) {
  std::size_t begin = 0;
  while (begin < text.size() && begin < 4 &&
         (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    ++begin;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  begin = std::min(text.find_first_not_of(' ', begin), text.size());
  text.erase(0, begin);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// Kills the whole group and waits for its leader. (A process that survives even SIGKILL, because
/// it waits for a broken disk, is left alone.)
void kill_and_reap(Executor& loop, pid_t pid) {
  (void)kill(-pid, SIGKILL);
  Shield orderly(loop, kReapLimit);
  while (waitpid(pid, nullptr, WNOHANG) == 0)
    if (loop.sleep(kPauseMin) != Woken::Ready) return;
}

}  // namespace

Result<CommandOutput> run_command(Executor& loop, const Command& command) {
  const std::string doing = "run '" + command.program + "'";
  Pipe out, err;
  auto pid = start(doing, command, out, err);
  if (!pid) return pid.error();
  out.close_write_end();
  err.close_write_end();
  std::string said;
  CommandOutput result;
  Within limit(loop, command.limit);
  for (Duration pause = kPauseMin;; pause = std::min(pause * 2, kPauseMax)) {
    // Check the process first, so that its last output is read after its end.
    int status = 0;
    const pid_t ended = waitpid(*pid, &status, WNOHANG);
    out.drain([&](std::string_view piece) {
      said += piece;
      return said.size() <= command.output_limit;
    });
    err.drain([&](std::string_view piece) {
      add_to_end(result.err_end, piece);
      return true;
    });
    if (said.size() > command.output_limit) {
      if (ended == 0) kill_and_reap(loop, *pid);
      return Error{Code::Invalid,
                   doing + ": wrote more than " + std::to_string(command.output_limit) + " bytes"};
    }
    if (ended < 0) return failure(doing, errno);  // Other code has reaped it.
    if (ended > 0) {
      result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      result.out = Secret(std::move(said));
      result.err_end = one_line(std::move(result.err_end));
      return result;
    }
    if (const Woken woken = loop.sleep(pause); woken != Woken::Ready) {
      kill_and_reap(loop, *pid);
      return to_result(woken, doing.c_str()).error();
    }
  }
}

bool is_program(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace etcdop
