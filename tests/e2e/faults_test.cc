// What goes wrong around the compiler: no memory, no space, a signal at the wrong moment. Whatever
// happens, the program is the old one or the new one, whole, and nothing else is left.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const std::string kModel = model_of("mobile_block");

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::path(testing::TempDir()) / fmt::format("layline_faults_{}", ::getpid());
    fs::create_directories(base_ / "out");
    ASSERT_EQ(wait(start([] {})), 0);
    whole_ = contents(program());
    ASSERT_GT(whole_.size(), 1000u);
  }
  void TearDown() override { fs::remove_all(base_); }

  fs::path program() const { return base_ / "out" / "model.pte"; }

  /// Compiles in a process of its own, `prepared` as asked.
  pid_t start(const std::function<void()>& prepare, const char* command = "compile",
              const std::string& model = kModel, const char* option = nullptr) const {
    const std::string output = program(), errors = base_ / "stderr";
    const pid_t child = ::fork();
    if (child != 0) return child;
    const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    prepare();
    ::execl(LAYLINE_BINARY, LAYLINE_BINARY, command, model.c_str(), "-o", output.c_str(), option,
            nullptr);
    ::_exit(127);
  }

  /// The exit status, or minus the signal.
  static int wait(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string errors() const { return contents(base_ / "stderr"); }

  bool has_nameless_files() const {
    const int file = ::open(base_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (file >= 0) ::close(file);
    return file >= 0;
  }

  /// Every file beside the program, which must be there and whole. Where files cannot be nameless,
  /// a process that is killed leaves one under its temporary name.
  void expect_only_the_whole_program() const {
    EXPECT_EQ(contents(program()), whole_);
    if (!has_nameless_files()) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(base_ / "out"))
      EXPECT_EQ(contents(entry.path()), whole_) << entry.path() << " is half-written";
  }

  fs::path base_;
  std::string whole_;
};

void limit(decltype(RLIMIT_AS) what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(what, &both);
}

TEST_F(Faults, KilledOrInterruptedAtAnyMoment) {
  for (const int signal : {SIGKILL, SIGINT, SIGTERM}) {
    for (int step = 0; step < 12; ++step) {
      const pid_t child = start([] {});
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * step));
      ::kill(child, signal);
      const int status = wait(child);
      EXPECT_TRUE(status == 0 || status == -signal) << status << errors();
      expect_only_the_whole_program();
    }
  }
}

/// In a child: from here on the system call ends as told, SECCOMP_RET_*. Exits with kNoFilters
/// where a process may not have that.
constexpr int kNoFilters = 125;
#if defined(SYS_rename)
constexpr long kRename = SYS_rename;
#else  // Arm
constexpr long kRename = SYS_renameat;
#endif
void install(std::span<sock_filter> steps) {
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(kNoFilters);
}
void filter(long call, unsigned ending) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, ending),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(steps);
}
/// The same of opening a file without a name, as a file system says that it has none.
void refuse_nameless_files() {
  constexpr unsigned kNameless = O_TMPFILE & ~O_DIRECTORY;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNameless, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  install(steps);
}

TEST_F(Faults, KilledBetweenWritingAndRenaming) {
  std::ofstream(program(), std::ios::binary) << "the old program";
  std::vector<long> calls{SYS_write, kRename};
  if (has_nameless_files()) calls.push_back(SYS_linkat);
  for (const long call : calls) {
    SCOPED_TRACE(call);
    const int status = wait(start([call] { filter(call, SECCOMP_RET_KILL_PROCESS); }));
    if (status == kNoFilters) GTEST_SKIP() << "no process here may filter its system calls";
    EXPECT_EQ(status, -SIGSYS) << errors();
    EXPECT_EQ(contents(program()), "the old program");
  }
  // What was left under a temporary name does not stand in the way.
  EXPECT_EQ(wait(start([] {})), 0) << errors();
  EXPECT_EQ(contents(program()), whole_);
}

TEST_F(Faults, WhereNoFileIsNameless) {
  std::ofstream(program(), std::ios::binary) << "the old program";
  const auto files = [&] {
    return std::distance(fs::directory_iterator(base_ / "out"), fs::directory_iterator());
  };
  int status = wait(start([] {
    refuse_nameless_files();
    limit(RLIMIT_FSIZE, 1000);
  }));
  if (status == kNoFilters) GTEST_SKIP() << "no process here may filter its system calls";
  EXPECT_EQ(status, 1);
  EXPECT_EQ(contents(program()), "the old program");
  EXPECT_EQ(files(), 1) << "what was half-written is still there";
  status = wait(start([] {
    refuse_nameless_files();
    filter(kRename, SECCOMP_RET_ERRNO | EIO);
  }));
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors().find("Input/output error"), std::string::npos) << errors();
  EXPECT_EQ(contents(program()), "the old program");
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(wait(start(refuse_nameless_files)), 0) << errors();
  EXPECT_EQ(contents(program()), whole_);
  EXPECT_EQ(files(), 1);
}

TEST_F(Faults, DiskThatFailsToSync) {
  std::ofstream(program(), std::ios::binary) << "the old program";
  const auto broken = [] { filter(SYS_fsync, SECCOMP_RET_ERRNO | EIO); };
  const int status = wait(start(broken, "compile", kModel, "--sync"));
  if (status == kNoFilters) GTEST_SKIP() << "no process here may filter its system calls";
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors().find("Input/output error"), std::string::npos) << errors();
  EXPECT_EQ(contents(program()), "the old program");
  // Without --sync nobody asks the disk.
  EXPECT_EQ(wait(start(broken)), 0) << errors();
  EXPECT_EQ(contents(program()), whole_);
}

TEST_F(Faults, NoSpaceForTheFile) {
  for (const rlim_t bytes : {0, 1, 1000, 4096}) {
    const pid_t child = start([bytes] { limit(RLIMIT_FSIZE, bytes); });
    // The message itself goes to a file, which may be as limited.
    EXPECT_EQ(wait(child), 1) << bytes;
    expect_only_the_whole_program();
  }
  EXPECT_NE(errors().find("model.pte"), std::string::npos) << errors();
}

/// In a child: from here on its own view of what is mounted. Exits with kNoMounts where a process
/// may not have that.
constexpr int kNoMounts = 126;
void mount_tmpfs(const fs::path& folder, const std::string& options) {
  const bool allowed = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  if (!allowed || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) != 0)
    ::_exit(kNoMounts);
}

TEST_F(Faults, FullDisk) {
  const int status = wait(start([&] { mount_tmpfs(base_ / "out", "size=16k"); }));
  if (status == kNoMounts) GTEST_SKIP() << "no process here may mount a small disk";
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors().find("No space left"), std::string::npos) << errors();
  EXPECT_NE(errors().find("model.pte"), std::string::npos) << errors();
  expect_only_the_whole_program();
}

TEST_F(Faults, ReadOnlyDisk) {
  const int status = wait(start([&] {
    mount_tmpfs(base_ / "out", "");
    if (::mount(nullptr, (base_ / "out").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      ::_exit(kNoMounts);
  }));
  if (status == kNoMounts) GTEST_SKIP() << "no process here may mount a disk read-only";
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors().find("Read-only file system"), std::string::npos) << errors();
  EXPECT_NE(errors().find("model.pte"), std::string::npos) << errors();
  expect_only_the_whole_program();
}

/// The model is written over, or cut short, while it is compiled from where it lies: a program or
/// one message, and never a crash.
TEST_F(Faults, ModelChangesWhileItIsRead) {
  const fs::path model = base_ / "model.pt2";
  const std::string good = contents(kModel);
  for (int round = 0; round < 24; ++round) {
    std::ofstream(model, std::ios::binary) << good;
    const pid_t child = start([] {}, "compile", model);
    const auto moment = std::chrono::milliseconds(round / 2);
    std::this_thread::sleep_for(moment);
    if (round % 2 == 0) {
      fs::resize_file(model, good.size() / 3);
    } else {
      std::fstream file(model, std::ios::binary | std::ios::in | std::ios::out);
      const std::string other(97, static_cast<char>(round));
      for (size_t at = 0; at + other.size() < good.size(); at += 2 * other.size()) {
        file.seekp(static_cast<std::streamoff>(at));
        file << other;
      }
    }
    const int status = wait(child);
    EXPECT_TRUE(status == 0 || status == 1) << status << " in round " << round << errors();
    if (status == 1) {
      EXPECT_EQ(errors().rfind("layline: ", 0), 0u) << errors();
    }
  }
}

/// Runs a traced child until it has mapped the file of this size. False where a process may not
/// trace another.
bool run_until_mapped(pid_t child, uint64_t size) {
  int status = 0;
  for (;;) {
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 &&
        info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_madvise &&
        info.entry.args[1] == size)
      return true;
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return false;
  }
}

TEST_F(Faults, ModelIsCutShortWhenItHasJustBeenMapped) {
  const fs::path model = base_ / "model.pt2";
  fs::copy_file(kModel, model);
  const uint64_t size = fs::file_size(model);
  const pid_t child = start(
      [] {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNoFilters);
      },
      "compile", model);
  if (!run_until_mapped(child, size)) GTEST_SKIP() << "no process here may trace another";
  fs::resize_file(model, 10);
  ::ptrace(PTRACE_DETACH, child, nullptr, nullptr);
  EXPECT_EQ(wait(child), 1);
  EXPECT_EQ(errors(),
            "layline: a file was cut short, or its disk failed, while it was read; nothing was "
            "written\n");
  expect_only_the_whole_program();
}

TEST_F(Faults, NotEnoughMemory) {
#if defined(LAYLINE_SANITIZED)
  GTEST_SKIP() << "the sanitizer reserves terabytes of address space";
#endif
  // So many nodes that memory ends at any place, and not only when the model is mapped.
  const fs::path model = base_ / "model.lay";
  {
    std::ofstream text(model);
    text << "graph \"forward\" {\n  input \"x\" %x0 : f32[1,4]\n";
    for (int i = 0; i < 4000; ++i)
      text << fmt::format("  %x{} = {}(%x{})\n", i + 1, i % 2 == 0 ? "neg" : "abs", i);
    text << "  output \"y\" %x4000\n}\n";
  }
  ASSERT_EQ(wait(start([] {}, "compile", model)), 0) << errors();
  whole_ = contents(program());
  // What the process takes before main(), in the libraries that it links, is not ours to refuse.
  const auto starts = [&](rlim_t bytes) {
    return wait(start([bytes] { limit(RLIMIT_AS, bytes); }, "compile", "--help")) == 0;
  };
  constexpr rlim_t kStep = rlim_t{1} << 18;
  rlim_t bytes = rlim_t{16} << 20;
  while (!starts(bytes)) bytes += 8 * kStep;
  int refused = 0;
  for (int status = 1; status != 0; bytes += kStep) {
    status = wait(start([bytes] { limit(RLIMIT_AS, bytes); }, "compile", model));
    ASSERT_TRUE(status == 0 || status == 1) << status << " with " << bytes << ": " << errors();
    expect_only_the_whole_program();
    if (status == 1 && errors() == "layline: not enough memory\n") ++refused;
  }
  EXPECT_GT(refused, 0) << "no limit was small enough to matter";
}

}  // namespace
}  // namespace layline
