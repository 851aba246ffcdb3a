// Which nodes of an automaton behave alike: whatever the answers, they ask the same ever after. A
// thread's stack holds much that nobody reads any more, so that many nodes differ in it alone.
//
// The automaton is found out step by step, and so are the classes. All nodes that ask the same are
// one class to begin with, and the first node found stands for it. A class that is followed with an
// answer is followed by each of its nodes, and a node that is found later by every answer that its
// class was followed with: where two nodes of one class come to two classes, they are told apart
// from then on by these answers (the word of a fork), and what was built on their being alike is to
// begin anew. So what has been followed is a bisimulation at every moment: the step of a class is
// the step of each of its nodes.
//
// The forks are a tree, as in Kearns, Vazirani, "An introduction to computational learning theory"
// (1994), chapter 8: a node goes down by what it asks after the fork's word.
#pragma once

#include "client/hash.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace prove {

using NodeId = uint32_t;

// Deterministic; its nodes are found out step by step.
class Automaton {
  public:
    virtual NodeId step(NodeId node, uint64_t answer) = 0;
    // What a node asks. Of a node that ends, no step is made.
    virtual Hash asks(NodeId node) const = 0;
    virtual bool ends(NodeId node) const = 0;

  protected:
    ~Automaton() = default;
};

class Alike {
  public:
    // What it may cost. Beyond that it gives up, as if no two nodes behaved alike: a class is also
    // followed by answers that some of its nodes never get, and these may know no end; and a loop
    // that counts is told apart by words as long as it runs.
    struct Bounds {
        size_t nodes;
        uint64_t steps; // along words
    };
    Alike(Automaton &automaton, const Bounds &most)
        : automaton_(automaton), most_(most), places_(1) {}

    // The node that stands for this one's class.
    NodeId representative(NodeId node);
    // The same of the class that follows.
    NodeId follow(NodeId representative, uint64_t answer);
    // Two nodes were found to differ that had been taken for alike: what followed is not to be
    // trusted before settle().
    bool changed() const { return changed_; }
    void settle();
    size_t classes() const;

  private:
    using PlaceId = uint32_t;
    static constexpr PlaceId kNone = UINT32_MAX;

    struct Followed {
        uint64_t answer;
        PlaceId to;
    };
    // Of the tree: a fork, or a leaf, which is a class.
    struct Place {
        PlaceId above = kNone;
        bool is_fork = false;
        std::vector<uint64_t> word;
        std::unordered_map<Hash, PlaceId, HashOfHash> below;
        std::vector<NodeId> nodes; // of a class
        std::vector<Followed> followed;
    };

    PlaceId place_of(NodeId node);
    Hash outcome(NodeId node, const std::vector<uint64_t> &word);
    PlaceId follow_class(PlaceId place, uint64_t answer);
    void check(PlaceId place, NodeId node, const Followed &followed);
    void check_new_nodes();
    std::vector<uint64_t> word_between(PlaceId one, PlaceId other) const;

    Automaton &automaton_;
    const Bounds most_;
    uint64_t steps_ = 0;
    std::vector<Place> places_;     // the root first
    std::vector<PlaceId> place_of_; // by node
    std::vector<NodeId> new_nodes_; // not yet followed by what their class was
    bool changed_ = false;
    bool gives_up_ = most_.nodes == 0;
};

} // namespace prove
