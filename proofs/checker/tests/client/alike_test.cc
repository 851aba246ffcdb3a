#include "client/alike.h"

#include <algorithm>
#include <deque>
#include <doctest/doctest.h>
#include <random>
#include <set>

using namespace prove;

namespace {

constexpr unsigned kAnswers = 3, kAsked = 3;

// Copies of the nodes of a small automaton. A copy steps to a copy: it behaves as its original
// does.
struct Copies final : Automaton {
    std::vector<std::vector<NodeId>> next;
    std::vector<uint64_t> what;

    Copies(std::mt19937 &random, unsigned originals, unsigned copies) {
        std::vector<std::vector<NodeId>> original(originals);
        for (auto &row : original) {
            for (unsigned i = 0; i < kAnswers; i++)
                row.push_back(static_cast<NodeId>(random() % originals));
        }
        for (unsigned node = 0; node < originals * copies; node++) {
            what.push_back(node % originals % kAsked);
            next.emplace_back();
            for (NodeId to : original[node % originals])
                next.back().push_back(static_cast<NodeId>(to + originals * (random() % copies)));
        }
    }
    NodeId step(NodeId node, uint64_t answer) override { return next[node][answer]; }
    Hash asks(NodeId node) const override { return hash_words(&what[node], 1); }
    bool ends(NodeId) const override { return false; }

    // What differs when all is known, by Moore: of each node its class.
    std::vector<size_t> classes() const {
        std::vector<size_t> known(what.begin(), what.end());
        for (size_t round = 0; round < what.size(); round++) {
            std::vector<std::vector<size_t>> rows;
            for (size_t node = 0; node < what.size(); node++) {
                rows.push_back({known[node]});
                for (NodeId to : next[node])
                    rows.back().push_back(known[to]);
            }
            for (size_t node = 0; node < what.size(); node++)
                known[node] =
                    static_cast<size_t>(std::ranges::find(rows, rows[node]) - rows.begin());
        }
        return known;
    }
};

// All representatives that can be reached, found out as the explorer does.
std::set<NodeId> reached(Alike &alike) {
    for (;;) {
        std::set<NodeId> seen = {alike.representative(0)};
        std::deque<NodeId> open(seen.begin(), seen.end());
        while (!open.empty() && !alike.changed()) {
            NodeId node = open.front();
            open.pop_front();
            for (uint64_t answer = 0; answer < kAnswers && !alike.changed(); answer++) {
                NodeId to = alike.follow(node, answer);
                if (seen.insert(to).second)
                    open.push_back(to);
            }
        }
        if (!alike.changed())
            return seen;
        alike.settle();
    }
}

} // namespace

TEST_CASE("of nodes that behave alike one stands for all, and for no other") {
    std::mt19937 random(7);
    for (unsigned i = 0; i < 300; i++) {
        Copies automaton(random, 2 + i % 20, 1 + i % 4);
        Alike alike(automaton, {1000, 1'000'000});
        const std::set<NodeId> found = reached(alike);
        const std::vector<size_t> classes = automaton.classes();
        std::set<size_t> wanted;
        std::set<NodeId> seen = {0};
        for (std::deque<NodeId> open = {0}; !open.empty(); open.pop_front()) {
            wanted.insert(classes[open.front()]);
            for (NodeId to : automaton.next[open.front()]) {
                if (seen.insert(to).second)
                    open.push_back(to);
            }
        }
        CHECK(found.size() == wanted.size());
        CHECK(alike.classes() == wanted.size());
        NodeId node = 0, other = alike.representative(0);
        for (unsigned steps = 0; steps < 100; steps++) {
            CHECK(classes[node] == classes[other]);
            uint64_t answer = random() % kAnswers;
            node = automaton.step(node, answer);
            other = alike.follow(other, answer);
        }
        CHECK_FALSE(alike.changed());
    }
}

TEST_CASE("nodes that were taken for alike are told apart when they show that they differ") {
    std::mt19937 random(1);
    Copies automaton(random, 1, 1);
    automaton.what = {0, 0, 0, 1};
    automaton.next = {{1, 1, 0}, {2, 1, 0}, {3, 2, 0}, {3, 3, 3}};
    Alike alike(automaton, {1000, 1'000'000});
    NodeId first = alike.representative(0);
    CHECK(alike.follow(first, 1) == first); // so far
    CHECK_FALSE(alike.changed());
    alike.follow(first, 0);
    CHECK(alike.changed());
    alike.settle();
    CHECK(reached(alike).size() == 4);
    CHECK(alike.follow(alike.representative(0), 1) != alike.representative(0));
}

TEST_CASE("where it costs too much each node stands for itself") {
    std::mt19937 random(3);
    Copies automaton(random, 10, 6);
    Alike merging(automaton, {1000, 1'000'000}), by_itself(automaton, {0, 0});
    Alike giving_up(automaton, {10, 1'000'000}), idle(automaton, {1000, 0});
    const std::set<NodeId> few = reached(merging);
    CHECK(few.size() == merging.classes());
    const std::set<NodeId> all = reached(by_itself);
    CHECK(all.size() > few.size());
    CHECK(reached(giving_up) == all);
    CHECK(reached(idle) == all);
}
