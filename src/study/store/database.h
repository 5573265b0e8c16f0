#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace tessera {

// A SQLite file. Throws Error that says what is wrong with the file (locked, damaged, disk full, not writable) and what to do.
// One thread at a time.
class Database {
 public:
  enum class Mode { kExisting, kMake };  // kMake: the file is made where it is missing
  Database(std::filesystem::path file, Mode mode);

  void execute(const std::string& sql);
  int64_t last_id() const;  // of the row inserted last

 private:
  friend class Statement;
  [[noreturn]] void fail_with(int code) const;

  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// One command, its `?` bound in order, and the rows it gives.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);

  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(const std::string& value);
  Statement& bind_null();

  bool next();  // false: there are no more rows
  void run();   // for commands that give none; it may be bound and run again then

  bool is_null(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  void check(int code) const;

  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finish> handle_;
  int bound_ = 0;
};

// All or nothing: what was not committed when it goes is undone. It begins as a writer, so that two of them wait for one
// another instead of failing half-way.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace tessera
