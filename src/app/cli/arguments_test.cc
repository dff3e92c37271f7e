#include "app/cli/arguments.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/cli/exit_code.h"
#include "app/cli/export_commands.h"
#include "app/version.h"

namespace waybill::app::cli {
namespace {

TEST(Arguments, GlobalOptionsStandAnywhere) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--json", "--url", "http://x", "--timeout", "0.5", "export",
                                 "list"},
        std::vector<std::string>{"export", "list", "--json", "--url=http://x", "--timeout=0.5"}}) {
    const Parsed parsed = parse_arguments(words);
    ASSERT_TRUE(parsed.arguments) << parsed.text;
    EXPECT_EQ(parsed.arguments->command, Command::kExportList);
    EXPECT_TRUE(parsed.arguments->json);
    EXPECT_EQ(parsed.arguments->url, "http://x");
    EXPECT_EQ(parsed.arguments->timeout_ms, 500);
  }
}

TEST(Arguments, Create) {
  const Parsed parsed = parse_arguments({"export", "create", "--type", "ORDER_LIST", "--param",
                                         "rows=10", "--param", "note=a=b", "--name", "n",
                                         "--priority", "P1", "--watch", "--output", "x.xlsx"});
  ASSERT_TRUE(parsed.arguments) << parsed.text;
  const Arguments& a = *parsed.arguments;
  EXPECT_EQ(a.command, Command::kExportCreate);
  EXPECT_EQ(a.type, "ORDER_LIST");
  EXPECT_EQ(a.params,
            (std::vector<std::pair<std::string, std::string>>{{"rows", "10"}, {"note", "a=b"}}));
  EXPECT_TRUE(a.watch);
  EXPECT_EQ(a.output, "x.xlsx");
}

TEST(Arguments, FromJson) {
  const Parsed parsed =
      parse_arguments({"xlsx", "from-json", "a.json", "-", "--output", "x", "--cell-refs", "no",
                       "--level", "small", "--sheet", "Orders"});
  ASSERT_TRUE(parsed.arguments) << parsed.text;
  EXPECT_EQ(parsed.arguments->pages, (std::vector<std::string>{"a.json", "-"}));
  EXPECT_EQ(parsed.arguments->output, "x");
  EXPECT_EQ(parsed.arguments->cell_refs, "no");
  EXPECT_EQ(parsed.arguments->level, "small");
  EXPECT_EQ(parsed.arguments->sheet, "Orders");
}

TEST(Arguments, EachCommandIsItself) {
  const std::pair<std::vector<std::string>, Command> cases[] = {
      {{"demo", "--port", "0", "--data", "d", "--verbose"}, Command::kDemo},
      {{"serve", "--config", "c", "--set", "a.b=1", "--set", "c.d=2"}, Command::kServe},
      {{"migrate"}, Command::kMigrate},
      {{"config", "check"}, Command::kConfigCheck},
      {{"config", "show", "--effective"}, Command::kConfigShow},
      {{"config", "docs"}, Command::kConfigDocs},
      {{"export", "types"}, Command::kExportTypes},
      {{"export", "show", "7"}, Command::kExportShow},
      {{"export", "download", "7", "--output", "x"}, Command::kExportDownload},
      {{"export", "retry", "7"}, Command::kExportRetry},
      {{"export", "cancel", "7"}, Command::kExportCancel},
      {{"bench", "dispatch", "--tasks", "10", "--finished", "5"}, Command::kBenchDispatch},
      {{"xlsx", "from-json", "a.json", "b.json", "-o", "x"}, Command::kXlsxFromJson},
      {{"xlsx", "to-json", "x", "--sheet", "2"}, Command::kXlsxToJson},
      {{"xlsx", "verify", "x"}, Command::kXlsxVerify}};
  for (const auto& [words, command] : cases) {
    const Parsed parsed = parse_arguments(words);
    ASSERT_TRUE(parsed.arguments) << words[0] << ": " << parsed.text;
    EXPECT_EQ(parsed.arguments->command, command);
  }
  EXPECT_EQ(
      parse_arguments({"serve", "--set", "a.b=1", "--set", "c.d=2"}).arguments->overrides.size(),
      2u);
}

TEST(Arguments, UsageErrorsAreOneLine) {
  const std::vector<std::string> cases[] = {
      {},
      {"exprot"},
      {"export"},
      {"export", "create"},
      {"export", "create", "--type", "A", "--param", "x"},
      {"export", "create", "--type", "A", "--param", "=x"},
      {"export", "create", "--type", "A", "--priority", "P9"},
      {"export", "list", "--nonsense"},
      {"export", "list", "--limit", "0"},
      {"export", "list", "--limit", "many"},
      {"export", "show"},
      {"export", "show", "1", "2"},
      {"--timeout", "0", "export", "list"},
      {"demo", "--port", "70000"},
      {"bench", "dispatch", "--slots", "0"},
      {"xlsx"},
      {"xlsx", "from-json", "-o", "x"},
      {"xlsx", "from-json", "a.json"},
      {"xlsx", "from-json", "a", "-o", "x", "--level", "9"},
      {"xlsx", "from-json", "a", "-o", "x", "--cell-refs", "0"},
      {"xlsx", "to-json"},
      {"xlsx", "verify", "a", "b"}};
  for (const auto& words : cases) {
    const Parsed parsed = parse_arguments(words);
    EXPECT_FALSE(parsed.arguments);
    EXPECT_EQ(parsed.exit_code, kUsage);
    EXPECT_FALSE(parsed.text.empty());
    EXPECT_EQ(parsed.text.find('\n'), std::string::npos) << parsed.text;
  }
}

TEST(Arguments, UsageErrorsSayWhatIsWrong) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "a command is missing (see waybill --help)"},
      {{"export"}, "a command is missing (see waybill export --help)"},
      {{"exprot"},
       "there is no command \"exprot\"; did you mean \"waybill export\"? (see waybill --help)"},
      {{"--json", "exprot", "list"},
       "there is no command \"exprot\"; did you mean \"waybill export\"? (see waybill --help)"},
      {{"export", "lst"},
       "there is no command \"export lst\"; did you mean \"waybill export list\"? "
       "(see waybill export --help)"},
      {{"frobnicate"}, "there is no command \"frobnicate\" (see waybill --help)"},
      {{std::string(5'000, 'x')},
       "there is no command \"" + std::string(278, 'x') + "… (see waybill --help)"},
      {{"--nonsense"}, "there is no option \"--nonsense\" (see waybill --help)"},
      {{"--nonsense=secret", "export", "list"},
       "there is no option \"--nonsense\" (see waybill export list --help)"},
      {{"--jsn", "export", "list"},
       "there is no option \"--jsn\"; did you mean \"--json\"? (see waybill export list --help)"},
      {{"--verison"},
       "there is no option \"--verison\"; did you mean \"--version\"? (see waybill --help)"},
      {{"-x", "demo"}, "there is no option \"-x\" (see waybill demo --help)"},
      {{"demo", "--prot", "3"},
       "there is no option \"--prot\"; did you mean \"--port\"? (see waybill demo --help)"},
      {{"export", "create", "--tpye", "A"},
       "there is no option \"--tpye\"; did you mean \"--type\"? (see waybill export create "
       "--help)"},
      {{"export", "create"}, "--type is required (see waybill export create --help)"},
      {{"export", "show", "1", "2"}, "\"2\" is one word too many (see waybill export show --help)"},
      {{"demo", "--port", "70000"}, "--port must be 0..65535 (see waybill demo --help)"},
      {{"demo", "--port", "-1"}, "--port must be 0..65535 (see waybill demo --help)"},
      {{"--timeout", "nan", "export", "list"},
       "--timeout must be 0.001..86400 (see waybill export list --help)"},
      {{"export", "create", "--type", "A", "--name", "\xE5\x9B"},
       "--name must be UTF-8 (see waybill export create --help)"},
      {{"export", "create", "--type", "\xFF"},
       "--type must be UTF-8 (see waybill export create --help)"}};
  for (const auto& [words, text] : cases) {
    const Parsed parsed = parse_arguments(words);
    EXPECT_FALSE(parsed.arguments) << text;
    EXPECT_EQ(parsed.exit_code, kUsage);
    EXPECT_EQ(parsed.text, text);
  }
}

TEST(Arguments, HelpAndVersion) {
  const Parsed help = parse_arguments({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.text.find("export"), std::string::npos);
  EXPECT_NE(help.text.find("Exit codes"), std::string::npos);
  EXPECT_NE(parse_arguments({"export", "create", "--help"}).text.find("--param"),
            std::string::npos);
  EXPECT_NE(parse_arguments({"export", "create", "--help"}).text.find("waybill export create "),
            std::string::npos);
  EXPECT_NE(parse_arguments({"demo", "--help"}).text.find("waybill demo "), std::string::npos);
  EXPECT_EQ(parse_arguments({"--version"}).text, std::string("waybill ") + kVersion + "\n");
}

TEST(CreateBody, ValuesAreJsonOrText) {
  Arguments a;
  a.type = "T";
  a.params_json = R"({"keep":[1]})";
  a.params = {
      {"rows", "10"}, {"text", "ten"}, {"quoted", "\"10\""}, {"flag", "true"}, {"list", "[1,2]"}};
  const auto body = create_body(a);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(
      *body,
      R"({"exportType":"T","format":"XLSX","parameters":{"keep":[1],"rows":10,"text":"ten","quoted":"10",)"
      R"("flag":true,"list":[1,2]}})");
  a.params.emplace_back("rows", "11");
  EXPECT_FALSE(create_body(a).ok());
  a.params.clear();
  for (const char* text : {"[1]", "{", "{\"a\":1}}", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})"}) {
    a.params_json = text;
    EXPECT_FALSE(create_body(a).ok()) << text;
  }
  a.params_json.clear();
  a.params = {{"note", "\xFF"}};
  EXPECT_FALSE(create_body(a).ok());
}

TEST(ExitCodes, OfErrors) {
  EXPECT_EQ(exit_code_of(base::unavailable("x")), 3);
  EXPECT_EQ(exit_code_of(base::timed_out("x")), 3);
  EXPECT_EQ(exit_code_of(base::denied("x")), 4);
  EXPECT_EQ(exit_code_of(base::not_found("x")), 5);
  EXPECT_EQ(exit_code_of(base::invalid("f", "x")), 6);
  EXPECT_EQ(exit_code_of(base::conflict("C", "x")), 7);
  EXPECT_EQ(exit_code_of(base::internal("x")), 1);
  EXPECT_EQ(exit_code_of(base::cancelled("x")), 130);
}

TEST(ExitCodes, OfAnswers) {
  EXPECT_EQ(exit_code_of_answer(200, 42901), 7);
  EXPECT_EQ(exit_code_of_answer(200, 40902), 7);
  EXPECT_EQ(exit_code_of_answer(200, 40400), 5);
  EXPECT_EQ(exit_code_of_answer(200, 40301), 4);
  EXPECT_EQ(exit_code_of_answer(200, 40001), 6);
  EXPECT_EQ(exit_code_of_answer(401, 0), 4);
  EXPECT_EQ(exit_code_of_answer(410, 0), 10);
  EXPECT_EQ(exit_code_of_answer(413, 0), 6);
  EXPECT_EQ(exit_code_of_answer(503, 0), 3);
  EXPECT_EQ(exit_code_of_answer(500, 0), 1);
  EXPECT_EQ(exit_code_of_answer(200, 0), 1);
}

}  // namespace
}  // namespace waybill::app::cli
