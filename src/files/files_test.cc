#include "files/files.h"

#include <gtest/gtest.h>

#include <string>

namespace waybill::files {
namespace {

TEST(ValidKey, WhatWaybillMakes) {
  for (const std::string& key :
       {std::string("exports/42/1-7f9c24e8-3b12-4fef-91e0-8a3f0d1c2b3a.xlsx"), std::string("a"),
        std::string("a/b/c"), std::string("A.b_c-9"), std::string("a..b"), std::string("-"),
        std::string(255, 'k')}) {
    EXPECT_TRUE(valid_key(key)) << key;
  }
}

// D113
TEST(ValidKey, NothingElse) {
  for (const std::string& key : {std::string(),
                                 std::string("/"),
                                 std::string("/a"),
                                 std::string("a/"),
                                 std::string("a//b"),
                                 std::string("."),
                                 std::string(".."),
                                 std::string("../a"),
                                 std::string("a/../b"),
                                 std::string("a/.."),
                                 std::string("./a"),
                                 std::string(".a"),
                                 std::string("a/.b"),
                                 std::string("%2e%2e/a"),
                                 std::string("a%00"),
                                 std::string("a\\b"),
                                 std::string("a:b"),
                                 std::string("a b"),
                                 std::string("a\nb"),
                                 std::string("a\0b", 3),
                                 std::string("\xc3\xa4"),
                                 std::string("\xef\xbc\x8e\xef\xbc\x8e/a"),
                                 std::string(256, 'k'),
                                 std::string(257, 'k'),
                                 std::string("a/") + std::string(256, 'k')}) {
    EXPECT_FALSE(valid_key(key)) << key;
  }
}

}  // namespace
}  // namespace waybill::files
