#include <gtest/gtest.h>

#include <algorithm>

#include "api/api_fixture_for_test.h"

namespace waybill::api {
namespace {

class Download : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    id_ = created(as("ann"));
    for (int i = 0; i < 1'000; ++i) bytes_ += static_cast<char>('a' + i % 26);
    succeed(claim().at(0), bytes_, "客户 \"列表\"; a\r\nX-Evil: 1😀.xlsx");
    etag_ = '"' + base::sha256_hex(bytes_) + '"';
  }
  http::RawResponse download(const std::string& headers = "") {
    return get(task(id_) + "/download", as("ann") + headers);
  }
  std::string id_;
  std::string bytes_;
  std::string etag_;
};

// D117: a name with line breaks makes no header.
TEST_F(Download, TheWholeFileWithItsHeaders) {
  LogLines log;
  const http::RawResponse response = download();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, bytes_);
  EXPECT_EQ(response.headers.at("etag"), etag_);
  EXPECT_EQ(response.headers.at("content-type"), "application/xlsx");
  EXPECT_EQ(response.headers.at("accept-ranges"), "bytes");
  EXPECT_FALSE(response.headers.contains("x-evil"));
  EXPECT_EQ(response.headers.at("content-disposition"),
            "attachment; filename=\"__ _____ a__X-Evil_ 1_.xlsx\"; "
            "filename*=UTF-8''%E5%AE%A2%E6%88%B7%20_%E5%88%97%E8%A1%A8__%20a__X-Evil_%201%F0%9F%98%"
            "80.xlsx");
  EXPECT_EQ(log.count("AUDIT export_downloaded"), 1u);
  http::RawClient raw(server_->port());
  raw.send("HEAD " + std::string(kPrefix) + task(id_) +
           "/download HTTP/1.1\r\nHost: t\r\nRange: bytes=0-1\r\n" + as("ann") + "\r\n");
  const http::RawResponse head = raw.response(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "1000");
}

// D95: a part of another version of the file is never sent.
TEST_F(Download, Ranges) {
  const auto expect = [&](const std::string& headers, int status, const std::string& range,
                          const std::string& body) {
    const http::RawResponse response = download(headers);
    EXPECT_EQ(response.status, status) << headers;
    EXPECT_EQ(
        response.headers.contains("content-range") ? response.headers.at("content-range") : "",
        range)
        << headers;
    if (status != 416) {
      EXPECT_EQ(response.body, body) << headers;
    }
  };
  expect("Range: bytes=0-9\r\n", 206, "bytes 0-9/1000", bytes_.substr(0, 10));
  expect("Range: bytes=990-\r\n", 206, "bytes 990-999/1000", bytes_.substr(990));
  expect("Range: bytes=-5\r\n", 206, "bytes 995-999/1000", bytes_.substr(995));
  expect("Range: bytes=1000-\r\n", 416, "bytes */1000", "");
  expect("Range: bytes=-0\r\n", 416, "bytes */1000", "");
  expect("Range: bytes=0-1,2-3\r\n", 200, "", bytes_);
  expect("Range: bytes=0-9\r\nIf-Range: " + etag_ + "\r\n", 206, "bytes 0-9/1000",
         bytes_.substr(0, 10));
  expect("Range: bytes=0-9\r\nIf-Range: \"old\"\r\n", 200, "", bytes_);
  expect("Range: bytes=0-9\r\nIf-Range: W/" + etag_ + "\r\n", 200, "", bytes_);
  expect("Range: bytes=0-9\r\nIf-Range: Mon, 30 Nov 2026 14:23:59 GMT\r\n", 200, "", bytes_);
  EXPECT_EQ(code(download("Range: bytes=1000-\r\n")), "RANGE_NOT_SATISFIABLE");
}

TEST_F(Download, AClientThatHasItIsTold) {
  const http::RawResponse response = download("If-None-Match: \"x\", " + etag_ + "\r\n");
  EXPECT_EQ(response.status, 304);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(response.headers.at("etag"), etag_);
}

TEST_F(Download, OnlyAFinishedFileThatIsStillThere) {
  const std::string waiting = created(as("ann"), R"({"n":1})");
  const http::RawResponse early = get(task(waiting) + "/download", as("ann"));
  EXPECT_EQ(early.status, 404);
  EXPECT_EQ(code(early), "FILE_NOT_READY");
  clock_.advance(3'599'999);
  EXPECT_EQ(download().status, 200);
  clock_.advance(1);
  const http::RawResponse late = download();
  EXPECT_EQ(late.status, 410) << "from expires_at on, although the object still exists";
  EXPECT_EQ(code(late), "FILE_EXPIRED");
  EXPECT_EQ(get(task("424242") + "/download", as("ann")).status, 404);
}

// D110: about a file that is there nobody else learns anything, whatever they send along.
TEST_F(Download, SomebodyElsesFileIsLikeAMissingOne) {
  const auto strip = [](const std::string& body) {
    return body.substr(0, body.find(",\"requestId\""));
  };
  LogLines log;
  for (const std::string& who :
       {as("bob"), as("ann", "t2"),
        as("ann", "t2", {"platform:download:list", "platform:download:all"})}) {
    const http::RawResponse missing = get(task("424242") + "/download", who);
    for (const std::string extra :
         {"", "X-Tenant-Id: t1\r\n", "Range: bytes=0-9\r\n", "Range: bytes=1000-\r\n"}) {
      const http::RawResponse response = get(task(id_) + "/download?tenantId=t1", who + extra);
      EXPECT_EQ(response.status, 404);
      EXPECT_EQ(strip(response.body), strip(missing.body));
      EXPECT_FALSE(response.headers.contains("etag"));
    }
    EXPECT_EQ(get(task(id_) + "/download", who + "If-None-Match: " + etag_ + "\r\n").status, 404);
    const std::string above = std::to_string(std::stoll(id_) + 1);
    EXPECT_EQ(at(get("/files/export-tasks?cursor=" + above, who).body, {"data", "items"}), "[]");
  }
  EXPECT_EQ(log.count("export_downloaded"), 0u);
  EXPECT_EQ(download().status, 200);
}

TEST_F(Download, AFileThatIsGoneOrShorterIsNotServed) {
  LogLines log;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "files")) {
    if (entry.path().extension() == ".xlsx") std::filesystem::resize_file(entry.path(), 10);
  }
  EXPECT_EQ(download().status, 404);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "files")) {
    if (entry.path().extension() == ".xlsx") {
      std::filesystem::remove(entry.path());
      break;
    }
  }
  const http::RawResponse response = download();
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(code(response), "FILE_MISSING");
  EXPECT_EQ(log.count("file_missing"), 2u);
  EXPECT_EQ(response.body.find("exports/"), std::string::npos) << "no object key in an answer";
}

// D95
TEST_F(Download, AFileRemovedMeanwhileIsStillSentWhole) {
  const std::string big = created(as("ann"), R"({"n":2})");
  const std::string content(8u << 20, 'z');
  succeed(claim().at(0), content, "big.xlsx");
  http::RawClient reader(server_->port(), 4'096);
  reader.send("GET " + std::string(kPrefix) + task(big) + "/download HTTP/1.1\r\nHost: t\r\n" +
              as("ann") + "\r\n");
  reader.receive(1);
  clock_.advance(3'600'001);
  std::filesystem::remove_all(folder_ / "files" / "exports");
  const http::RawResponse response = reader.response();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body == content) << "never mixed or short";
  EXPECT_EQ(get(task(big) + "/download", as("ann") + "Range: bytes=5-\r\n").status, 410);
}

}  // namespace
}  // namespace waybill::api
