// All states of a small program under a weak model, and what can become of each: without leaving
// out what another state covers.
#pragma once

#include "client/operation.h"
#include "client/program.h"
#include "models/machine.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// One instruction of a thread of the unit tests' client; the thread remembers what it loads.
struct Instruction {
    prove::Kind kind = prove::Kind::kLoad; // kRmw: an addition
    prove::Order order = prove::Order::kRelaxed;
    unsigned location = 0; // 0 or 1
    unsigned size = 4;     // bytes: 4, or 2 of an atomic access
    unsigned offset = 0;
    uint32_t value = 0;
};
using Threads = std::vector<std::vector<Instruction>>;

class Explored {
  public:
    using Words = std::vector<uint64_t>;

    Explored(const Threads &threads, prove::Model model);

    prove::Program &program() { return program_; }
    const prove::Machine &machine() const { return *machine_; }
    size_t states() const { return words_.size(); }
    const Words &words(size_t state) const { return words_[state]; }
    const std::vector<size_t> &followers(size_t state) const { return followers_[state]; }
    // The states that a state can become.
    std::vector<size_t> reachable(size_t from) const;
    // What can become of a state: last memories with all that was loaded, and failures.
    const std::set<std::string> &outcomes(size_t state) const { return outcomes_[state]; }

  private:
    // Whether all states were found; else the layout has changed.
    bool explore();
    size_t number_of_current();
    void pass_outcomes_back();

    prove::Program program_;
    std::unique_ptr<prove::Machine> machine_;
    std::map<Words, size_t> numbers_;
    std::vector<Words> words_;
    std::vector<std::vector<size_t>> followers_;
    std::vector<std::set<std::string>> outcomes_;
};
