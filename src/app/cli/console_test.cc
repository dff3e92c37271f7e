#include "app/cli/console.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "app/cli/exit_code.h"

namespace waybill::app::cli {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TEST(Console, OutputThatIsLostIsAFailure) {
  const File full(std::fopen("/dev/full", "w"), std::fclose);
  ASSERT_NE(full, nullptr);
  char* words = nullptr;
  std::size_t size = 0;
  File err(::open_memstream(&words, &size), std::fclose);
  Console console(full.get(), err.get(), false, false);
  EXPECT_EQ(console.ended(kDone), kDone);
  console.result_line("x");
  EXPECT_EQ(console.ended(kDone), kLocalFile);
  EXPECT_EQ(console.ended(kTaskFailed), kTaskFailed) << "what went wrong first counts";
  err.reset();
  EXPECT_TRUE(std::string_view(words, size).starts_with("waybill: cannot write the output: "));
  std::free(words);
}

TEST(Console, AReaderThatHasSeenEnoughIsNone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  {
    const File out(::fdopen(ends[1], "w"), std::fclose);
    Console console(out.get(), stderr, false, false);
    console.result_line("x");
    EXPECT_EQ(console.ended(kDone), kDone);
  }
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace waybill::app::cli
