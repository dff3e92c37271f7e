// Where the command line writes: results to stdout, progress and errors to stderr.

#ifndef WAYBILL_APP_CLI_CONSOLE_H_
#define WAYBILL_APP_CLI_CONSOLE_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace waybill::app::cli {

// Not thread-safe.
class Console {
 public:
  Console(std::FILE* out, std::FILE* err, bool err_is_terminal, bool color)
      : out_(out), err_(err), terminal_(err_is_terminal), color_(color && err_is_terminal) {}
  // stdout and stderr; colours unless --no-color or NO_COLOR says otherwise.
  static Console standard(bool no_color);

  void result(std::string_view text);  // as it is
  void result_line(std::string_view text);
  // The exit code of a command that would end with `exit_code`: kLocalFile, and a line that says
  // so, where a result could not be written and nothing else had failed.
  [[nodiscard]] int ended(int exit_code);
  void note(std::string_view text);   // one line to stderr; clears a bar that stands there
  void error(std::string_view text);  // the same, "waybill: " before it
  void bar(std::string_view text);    // terminal only: redrawn in place
  [[nodiscard]] bool is_terminal() const { return terminal_; }
  [[nodiscard]] bool color() const { return color_; }
  [[nodiscard]] std::size_t columns() const;  // of the terminal, or of a usual one

 private:
  void clear_bar();
  std::FILE* out_;
  std::FILE* err_;
  bool terminal_, color_;
  bool bar_shown_ = false;
  int output_error_ = 0;  // errno of the first result that could not be written
};

}  // namespace waybill::app::cli

#endif  // WAYBILL_APP_CLI_CONSOLE_H_
