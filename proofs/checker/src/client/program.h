// The client as an automaton that is found out while it is explored. A node is a thread stopped at
// an operation; an edge is the answer to it. The client's code runs once for each edge: whoever
// comes to the same node with the same answer again goes on in the automaton.
//
// Two nodes are the same if the thread's stack, its saved registers among it, and the operation
// are, byte for byte (by a hash of 128 bits). Memory is no part of a node. Of nodes that behave
// alike (alike.h) one stands for all: a thread stands at no other.
#pragma once

#include "client/alike.h"
#include "client/hash.h"
#include "client/native.h"
#include "client/operation.h"
#include "memory/layout.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace prove {

struct Node {
    Operation op;
    Hash asks;   // of all that is in the operation
    Location at; // of its access, by the layout that was settled last
    unsigned thread = 0;
    uint64_t stack_pointer = 0;
    uint64_t stack_offset = 0; // of its copy in the program's store
    uint32_t stack_bytes = 0;
    // The edge taken last.
    uint64_t last_answer = 0;
    NodeId last_next = kNone;
    static constexpr NodeId kNone = UINT32_MAX;
};

class Program final : private Automaton {
  public:
    // `merges`: nodes that behave alike are one.
    Program(Native &native, bool merges) : native_(native), alike_(*this, merges ? kMost : kNone) {}

    NodeId start(unsigned thread);
    NodeId next(NodeId id, uint64_t answer) {
        Node &node = nodes_[id];
        if (node.last_next != Node::kNone && node.last_answer == answer)
            return node.last_next;
        return follow(id, answer);
    }
    const Node &node(NodeId id) const { return nodes_[id]; }
    size_t nodes() const { return nodes_.size(); }
    size_t classes() const { return alike_.classes(); }

    const Layout &layout() const { return layout_; }
    // A thread came to an access that the layout lacks, or nodes differ that were taken for alike:
    // no state since is to be trusted.
    bool has_changed() const { return layout_changed_ || alike_.changed(); }
    bool layout_changed() const { return layout_changed_; }
    // Whether threads execute fences at moments that are not their own. That they may is found out
    // like the layout.
    bool interrupts() const { return interrupts_; }
    void settle();
    const Native &native() const { return native_; }
    const char *look(void (*function)()) { return native_.look(function); }

  private:
    static constexpr Alike::Bounds kMost = {500'000, 50'000'000}, kNone = {0, 0};

    NodeId follow(NodeId id, uint64_t answer);
    NodeId step(NodeId id, uint64_t answer) override;
    Hash asks(NodeId id) const override { return nodes_[id].asks; }
    bool ends(NodeId id) const override;
    NodeId enter(unsigned thread, const Stopped &stopped);

    struct Edge {
        NodeId from;
        uint64_t answer;
        bool operator==(const Edge &) const = default;
    };
    struct HashOfEdge {
        size_t operator()(const Edge &edge) const {
            return fold(edge.answer ^ 0x9e3779b97f4a7c15, edge.from + 0xd1b54a32d192ed03);
        }
    };

    Native &native_;
    Layout layout_;
    bool layout_changed_ = false;
    bool interrupts_ = false;
    std::vector<Node> nodes_;
    std::vector<uint8_t> stacks_;
    std::unordered_map<Edge, NodeId, HashOfEdge> edges_;
    std::unordered_map<Hash, NodeId, HashOfHash> known_;
    Alike alike_;
    Stopped stopped_;
};

} // namespace prove
