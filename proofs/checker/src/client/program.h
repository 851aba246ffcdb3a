// The client as an automaton that is found out while it is explored. A node is a thread stopped at
// an operation; an edge is the answer to it. The client's code runs once for each edge: whoever
// comes to the same node with the same answer again goes on in the automaton.
//
// Two nodes are the same if what is live of the thread's stack, its saved registers among it, and
// the operation are, byte for byte (by a hash of 128 bits). Memory is no part of a node.
#pragma once

#include "client/hash.h"
#include "client/native.h"
#include "client/operation.h"
#include "memory/layout.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace prove {

using NodeId = uint32_t;

struct Node {
    Operation op;
    Extent at; // of its access, by the layout that was settled last
    unsigned thread = 0;
    uint64_t stack_pointer = 0;
    uint64_t frame = 0;        // Stopped's
    uint64_t stack_offset = 0; // of its copy in the program's store
    uint32_t stack_bytes = 0;
    // The edge taken last.
    uint64_t last_answer = 0;
    NodeId last_next = kNone;
    static constexpr NodeId kNone = UINT32_MAX;
};

class Program {
  public:
    explicit Program(Native &native) : native_(native) {}

    NodeId start(unsigned thread);
    NodeId next(NodeId id, uint64_t answer) {
        Node &node = nodes_[id];
        if (node.last_next != Node::kNone && node.last_answer == answer)
            return node.last_next;
        return follow(id, answer);
    }
    const Node &node(NodeId id) const { return nodes_[id]; }
    size_t nodes() const { return nodes_.size(); }
    // Every edge that is known: from which node, and to which.
    template <typename Visit> void each_edge(Visit visit) const {
        for (const auto &[edge, to] : edges_) {
            if (edge.from != Node::kNone)
                visit(edge.from, to);
        }
    }

    const Layout &layout() const { return layout_; }
    // A thread came to an access that the layout lacks: no state since is to be trusted.
    bool layout_changed() const { return layout_changed_; }
    // Whether threads execute fences at moments that are not their own. That they may is found out
    // like the layout.
    bool interrupts() const { return interrupts_; }
    void settle_layout();
    const Native &native() const { return native_; }
    const char *look(void (*function)()) { return native_.look(function); }

  private:
    NodeId follow(NodeId id, uint64_t answer);
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
    struct HashOfHash {
        size_t operator()(const Hash &hash) const { return hash.low; }
    };

    Native &native_;
    Layout layout_;
    bool layout_changed_ = false;
    bool interrupts_ = false;
    std::vector<Node> nodes_;
    std::vector<uint8_t> stacks_;
    std::unordered_map<Edge, NodeId, HashOfEdge> edges_;
    std::unordered_map<Hash, NodeId, HashOfHash> known_;
    Stopped stopped_;
};

} // namespace prove
