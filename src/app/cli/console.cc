#include "app/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "app/cli/endpoint.h"
#include "app/cli/exit_code.h"
#include "base/errno_text.h"

namespace waybill::app::cli {

Console Console::standard(bool no_color) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return {stdout, stderr, terminal, !no_color && !process_environment()("NO_COLOR")};
}

void Console::result(std::string_view text) {
  clear_bar();
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out_) == text.size();
  if ((std::fflush(out_) != 0 || !written) && output_error_ == 0) {
    output_error_ = errno != 0 ? errno : EIO;
  }
}

int Console::ended(int exit_code) {
  // A reader that has seen enough (head) is no failure.
  if (output_error_ == 0 || output_error_ == EPIPE) return exit_code;
  error("cannot write the output: " + base::errno_text(output_error_));
  return exit_code == kDone ? static_cast<int>(kLocalFile) : exit_code;
}

void Console::result_line(std::string_view text) { result(std::string(text) + "\n"); }

void Console::note(std::string_view text) {
  clear_bar();
  const std::string line = std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), err_);
  std::fflush(err_);
}

void Console::error(std::string_view text) {
  note((color_ ? "\x1b[31mwaybill:\x1b[0m " : "waybill: ") + std::string(text));
}

void Console::bar(std::string_view text) {
  if (!terminal_) return;
  const std::string line = "\r\x1b[K" + std::string(text);
  std::fwrite(line.data(), 1, line.size(), err_);
  std::fflush(err_);
  bar_shown_ = true;
}

void Console::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", err_);
  bar_shown_ = false;
}

std::size_t Console::columns() const {
  constexpr std::size_t kUsual = 100;
  winsize size{};
  return ::ioctl(::fileno(err_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace waybill::app::cli
