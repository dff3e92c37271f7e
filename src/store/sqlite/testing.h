// For tests that ask SQLite about the statements themselves.

#ifndef WAYBILL_STORE_SQLITE_TESTING_H_
#define WAYBILL_STORE_SQLITE_TESTING_H_

#include <map>
#include <string>

namespace waybill::store {

// Name -> text of every statement as SQLite gets it.
std::map<std::string, std::string> sqlite_statement_texts();

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SQLITE_TESTING_H_
