#include "study/store/database.h"

#include <sqlite3.h>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace tessera {
namespace {

constexpr int kPatience_s = 60;  // for others that write: their transactions take milliseconds

}  // namespace

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Database::Database(fs::path file, Mode mode) : file_(std::move(file)) {
  std::error_code error;
  if (mode == Mode::kExisting && !fs::exists(file_, error))
    fail("there is no study in {}: the file is missing", printable(file_.string()));
  if (mode == Mode::kMake && file_.has_parent_path()) make_folders(file_.parent_path());
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | (mode == Mode::kMake ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file_.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail_with(code);
  sqlite3_busy_timeout(handle, kPatience_s * 1000);
}

void Database::fail_with(int code) const {
  const std::string file = printable(file_.string());
  const char* said = handle_ != nullptr ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail("the study {} has been locked by another process for {} s; end the process that has it open and try again", file,
           kPatience_s);
    case SQLITE_CORRUPT:
      fail("the study {} is damaged ({}); `sqlite3 {} .recover | sqlite3 NEW.db` saves what can be read of it", file, said,
           file);
    case SQLITE_NOTADB: fail("{} is no SQLite file; expected a study as Tessera or Optuna writes it", file);
    case SQLITE_FULL:
      fail("the study {} could not be written: the disk is full; what was in it is whole, make room and start again", file);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      fail("the study {} cannot be written ({}); SQLite needs the right to write to the file and to its folder", file, said);
    case SQLITE_IOERR:
      fail("the study {} could not be read or written ({}); look at the disk or the network file system it lies on", file,
           said);
    default: fail("the study {}: {}", file, said);
  }
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code);
}

int64_t Database::last_id() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

void Statement::Finish::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database.handle_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr));
  handle_.reset(statement);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) database_.fail_with(code);
}

Statement& Statement::bind(int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(const std::string& value) {
  check(sqlite3_bind_text(handle_.get(), ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null() {
  check(sqlite3_bind_null(handle_.get(), ++bound_));
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(handle_.get());
  check(code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (next()) {
  }
  check(sqlite3_reset(handle_.get()));
  bound_ = 0;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);
  return text == nullptr ? ""
                         : std::string(reinterpret_cast<const char*>(text),
                                       static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // A full disk has undone it already.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace tessera
