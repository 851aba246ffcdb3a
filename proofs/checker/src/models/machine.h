// A memory model as a machine: the threads at their operations, and memory. It is in a state;
// its choices are the steps that threads or buffers may take; steps that no other thread can
// notice are taken at once, with the step before them.
#pragma once

#include "client/program.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace prove {

enum class Model : uint8_t { kSc, kTso, kTsoWait, kWeak, kWeakSi };

struct Bounds {
    unsigned buffer = 63; // stores in a store buffer: the most there is room for
};

// The client needs more than a machine has room for: a bound, like those on states and time.
struct TooLarge {
    std::string what;
};

struct Choice {
    uint8_t thread = 0;
    bool drain = false;  // the oldest store of the thread's buffer becomes visible
    uint16_t option = 0; // of several ways to do the thread's operation
};

struct Failure {
    std::string kind; // assertion, race, ...: docs in README.md
    std::string what;
    unsigned thread = 0;
};

// One row of a trace.
struct Row {
    unsigned thread = 0;
    bool drain = false;
    bool waits = false; // for ever
    Operation op;
    uint64_t value = 0; // read, or written by a store
    std::string detail; // what the model adds: the buffer, or which store was read
};

class Machine {
  public:
    Machine(Program &program, unsigned threads) : program_(program), threads_(threads) {}
    virtual ~Machine() = default;

    // To the first state.
    virtual void begin() = 0;
    virtual void load(const uint64_t *words, size_t count) = 0;
    virtual void save(std::vector<uint64_t> &words) const = 0;
    virtual void choices(std::vector<Choice> &choices) = 0;
    virtual void take(Choice choice) = 0;

    // Some machines leave out of their states what no thread will ask for, once they have looked at
    // what the automaton, as it is known, still does. Where a thread does something else after all
    // they have looked wrong: what was explored since is to be trusted in nothing.
    virtual void look_ahead() {}
    virtual bool looked_wrong() const { return false; }
    // Whether a look would leave more out.
    virtual bool should_look_ahead() const { return false; }

    // The states of some machines cover one another: what can happen from the covered one can
    // happen from the other, too, every failure among it. Only states of one class may.
    virtual bool has_subsumption() const { return false; }
    virtual Hash subsumption_class(const std::vector<uint64_t> &) const { return {}; }
    virtual bool covers(const std::vector<uint64_t> &, const std::vector<uint64_t> &) const {
        return false;
    }
    // Every thread sees what was stored last: the state that all others of its class cover.
    virtual void see_all() {}

    // Whether all threads have ended, and no store waits in a buffer.
    virtual bool ended() const = 0;
    // Whether some thread has come to the client's own bound.
    bool beyond() const;
    // The step failed, or brought an access that the layout lacks: the state is none.
    bool broken() const { return failed_ || program_.layout_changed(); }
    const Failure *failure() const { return failed_ ? &failure_ : nullptr; }
    // Looks at prove_end.
    void check_end();
    // Rows of what is done go here from now on.
    void trace_to(std::vector<Row> *rows) { rows_ = rows; }
    // Where each thread stands, for people.
    NodeId node(unsigned thread) const { return nodes_[thread]; }
    bool buffer_was_full() const { return buffer_was_full_; }

  protected:
    // Memory as prove_end sees it, word by word.
    virtual void current(std::vector<uint64_t> &words) const = 0;

    const Node &at(unsigned thread) const { return program_.node(nodes_[thread]); }
    void fail(std::string kind, std::string what, unsigned thread);
    void check_invariant(unsigned thread);
    void tell(unsigned thread, const Operation &op, uint64_t value, bool drain = false);
    virtual std::string detail(unsigned) const { return {}; }
    // Counts steps that no other thread notices; too many: the thread goes round without end.
    bool goes_round(unsigned thread, unsigned &steps);

    Program &program_;
    const unsigned threads_;
    NodeId nodes_[kMaxThreads];
    std::vector<Row> *rows_ = nullptr;
    bool failed_ = false;
    bool buffer_was_full_ = false;
    Failure failure_;

  private:
    const char *look_at_memory(void (*function)());
    struct HashOfHash {
        size_t operator()(const Hash &hash) const { return hash.low; }
    };
    std::unordered_set<Hash, HashOfHash> good_; // memory that invariant or end was content with
};

std::unique_ptr<Machine> make_machine(Model model, Program &program, unsigned threads,
                                      const Bounds &bounds);

} // namespace prove
