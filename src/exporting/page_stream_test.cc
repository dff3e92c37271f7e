#include "exporting/page_stream.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "exporting/settings.h"

namespace waybill::exporting {
namespace {

struct Page {
  std::string rows = R"([{"a":"1"}])";
  std::string next;  // empty = null
  bool more = false;
  std::string hash = "h";
};

std::string json(const Page& page) {
  return R"({"code":"200","data":{"schemaHash":")" + page.hash +
         R"(","snapshotToken":"snap","columns":[{"key":"a","title":"A","type":"STRING"}],"rows":)" +
         page.rows + R"(,"nextCursor":)" + (page.next.empty() ? "null" : '"' + page.next + '"') +
         R"(,"hasMore":)" + (page.more ? "true" : "false") + "}}";
}

struct Ended {
  std::int64_t pages = 0;
  std::int64_t rows = 0;
  std::optional<Failure> failure;
  std::vector<PageRequest> requests;
};

// Runs a stream over pages made by number (0, 1, ...) until it ends; gives up after 2,000,000
// requests.
Ended run(const std::function<Page(std::int64_t)>& page_at, std::int64_t max_rows = 500'000,
          std::int64_t limit = 500) {
  Ended out;
  PageParser parser;
  std::int64_t asked = 0;
  PageStream stream(
      [&](const PageRequest& request) {
        if (out.requests.size() < 1'000) out.requests.push_back(request);
        return parser.parse(json(page_at(asked++)), {limit, request.first});
      },
      max_rows);
  while (asked < 2'000'000) {
    NextPage next = stream.next();
    if (auto* failure = std::get_if<Failure>(&next)) {
      out.failure = std::move(*failure);
      return out;
    }
    if (std::holds_alternative<EndOfPages>(next)) return out;
    ++out.pages;
    out.rows += std::get<ProviderPage>(next).rows;
  }
  ADD_FAILURE() << "never ended";
  return out;
}

void expect(const Ended& ended, Failure::Kind kind, const std::string& words) {
  ASSERT_TRUE(ended.failure.has_value());
  EXPECT_EQ(ended.failure->kind, kind) << ended.failure->message;
  EXPECT_NE(ended.failure->message.find(words), std::string::npos) << ended.failure->message;
}

std::string rows_of(std::int64_t first, std::int64_t count) {
  std::string out = "[";
  for (std::int64_t i = 0; i < count; ++i) {
    out += (i == 0 ? "" : ",");
    out += R"({"a":")" + std::to_string(first + i) + "\"}";
  }
  return out + "]";
}

TEST(PageStream, FollowsTheCursorsAndKeepsTheFirstToken) {
  const Ended ended = run([](std::int64_t n) {
    return Page{rows_of(n * 2, 2), n < 2 ? "c" + std::to_string(n + 1) : "", n < 2, "h"};
  });
  EXPECT_FALSE(ended.failure.has_value());
  EXPECT_EQ(ended.pages, 3);
  EXPECT_EQ(ended.rows, 6);
  ASSERT_EQ(ended.requests.size(), 3u);
  EXPECT_TRUE(ended.requests[0].first);
  EXPECT_FALSE(ended.requests[1].first);
  EXPECT_EQ(ended.requests[1].cursor, "c1");
  EXPECT_EQ(ended.requests[2].cursor, "c2");
  EXPECT_EQ(ended.requests[2].snapshot_token, "snap");
}

TEST(PageStream, ChangedOrMissingSchemaHashIsPermanent) {
  for (const char* hash : {"other", ""}) {
    const Ended ended = run([hash](std::int64_t n) {
      return Page{rows_of(n, 1), "c" + std::to_string(n), true, n == 2 ? hash : "h"};
    });
    expect(ended, Failure::Kind::kPermanent, "schemaHash");
    EXPECT_EQ(ended.pages, 2);
  }
}

TEST(PageStream, MoreWithoutCursorIsTransient) {
  expect(run([](std::int64_t) { return Page{rows_of(0, 1), "", true, "h"}; }),
         Failure::Kind::kTransient, "no cursor");
}

// D97: unchanged, with an empty page, and in cycles of 2 and 50.
TEST(PageStream, RepeatedCursorsAreFound) {
  for (const std::int64_t cycle : {1, 2, 50}) {
    for (const bool empty : {false, true}) {
      const Ended ended = run([&](std::int64_t n) {
        return Page{empty ? "[]" : rows_of(n, 1), "c" + std::to_string(n % cycle), true, "h"};
      });
      expect(ended, Failure::Kind::kTransient, "repeated a cursor");
      EXPECT_EQ(ended.pages, cycle) << "found with the first repetition";
    }
  }
}

// D98: a provider that never ends is ended by a limit.
TEST(PageStream, EmptyPagesAreCounted) {
  const auto endless = [](std::int64_t n) {
    return Page{"[]", "c" + std::to_string(n), true, "h"};
  };
  const Ended ended = run(endless);
  expect(ended, Failure::Kind::kPermanent, "100 empty pages");
  EXPECT_EQ(ended.pages, kMaxEmptyPages);
  // Exactly the limit is allowed, wherever they stand.
  const Ended allowed = run([](std::int64_t n) {
    const bool empty = n % 2 == 0 && n < 2 * kMaxEmptyPages;
    return Page{empty ? "[]" : rows_of(n, 1), "c" + std::to_string(n), n < 300, "h"};
  });
  EXPECT_FALSE(allowed.failure.has_value());
}

TEST(PageStream, RowsAreLimited) {
  const auto endless = [](std::int64_t n) {
    return Page{rows_of(n, 1), "c" + std::to_string(n), true, "h"};
  };
  const Ended ended = run(endless, 1'000);
  expect(ended, Failure::Kind::kPermanent, "1000 rows");
  EXPECT_EQ(ended.failure->failure_class, core::FailureClass::kLimit);
  EXPECT_EQ(ended.rows, 1'000);
  const Ended exact = run(
      [](std::int64_t n) {
        return Page{rows_of(n * 500, 500), "c" + std::to_string(n), n < 1, "h"};
      },
      1'000);
  EXPECT_FALSE(exact.failure.has_value());
}

TEST(PageStream, APageThatComesAgainIsFound) {
  const Ended ended = run([](std::int64_t n) {
    return Page{rows_of((n % 3) * 50, 50), "c" + std::to_string(n), true, "h"};
  });
  expect(ended, Failure::Kind::kTransient, "same rows twice");
  EXPECT_EQ(ended.pages, 3);
}

TEST(PageStream, EqualRowsMayBeRight) {
  // Few columns, few values: the same page text again and again, but its rows are not different
  // from each other.
  std::string rows = "[";
  for (int i = 0; i < 50; ++i) rows += std::string(i == 0 ? "" : ",") + R"({"a":"ACTIVE"})";
  rows += "]";
  const Ended same =
      run([&](std::int64_t n) { return Page{rows, "c" + std::to_string(n), n < 20, "h"}; });
  EXPECT_FALSE(same.failure.has_value());
  // One row per page, each like the one before.
  const Ended single =
      run([](std::int64_t n) { return Page{rows_of(0, 1), "c" + std::to_string(n), n < 50, "h"}; });
  EXPECT_FALSE(single.failure.has_value());
}

TEST(SeenTexts, RemembersWhatItSaw) {
  SeenTexts seen;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(std::to_string(i)));
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(seen.insert(std::to_string(i)));
}

}  // namespace
}  // namespace waybill::exporting
