#include "client/program.h"

namespace prove {

NodeId Program::start(unsigned thread) {
    Edge edge{Node::kNone, thread};
    auto found = edges_.find(edge);
    if (found == edges_.end()) {
        native_.start(thread, stopped_);
        found = edges_.emplace(edge, enter(thread, stopped_)).first;
    }
    return alike_.representative(found->second);
}

NodeId Program::follow(NodeId id, uint64_t answer) {
    NodeId next = alike_.follow(id, answer);
    nodes_[id].last_answer = answer;
    nodes_[id].last_next = next;
    return next;
}

// A node's own step.
NodeId Program::step(NodeId id, uint64_t answer) {
    Edge edge{id, answer};
    if (auto found = edges_.find(edge); found != edges_.end())
        return found->second;
    const Node &node = nodes_[id];
    native_.resume(node.thread, node.stack_pointer, stacks_.data() + node.stack_offset,
                   node.stack_bytes, answer, stopped_);
    return edges_[edge] = enter(node.thread, stopped_);
}

bool Program::ends(NodeId id) const {
    Kind kind = nodes_[id].op.kind;
    return kind == Kind::kEnd || kind == Kind::kFail || kind == Kind::kBeyond;
}

NodeId Program::enter(unsigned thread, const Stopped &stopped) {
    const Operation &op = stopped.op;
    const uint64_t words[] = {static_cast<uint64_t>(op.kind) << 32 |
                                  static_cast<uint64_t>(op.update) << 24 |
                                  static_cast<uint64_t>(op.order) << 16 |
                                  static_cast<uint64_t>(op.failure_order) << 8 | op.size,
                              op.address,
                              op.value,
                              op.expected,
                              op.place,
                              reinterpret_cast<uint64_t>(op.what),
                              thread};
    Hash asks = hash_words(words, sizeof words / sizeof *words);
    Hash stack = hash_bytes(stopped.stack.data(), stopped.stack.size(), thread);
    const uint64_t both[] = {stack.low, stack.high, asks.low, asks.high};
    Hash key = hash_words(both, sizeof both / sizeof *both);
    auto [known, is_new] = known_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
    if (!is_new)
        return known->second;
    Node node;
    node.op = op;
    node.asks = asks;
    node.thread = thread;
    node.stack_pointer = stopped.stack_pointer;
    node.stack_offset = stacks_.size();
    node.stack_bytes = static_cast<uint32_t>(stopped.stack.size());
    stacks_.insert(stacks_.end(), stopped.stack.begin(), stopped.stack.end());
    bool is_first = op.kind == Kind::kInterrupt && !interrupts_;
    interrupts_ |= is_first;
    if (layout_.note(op, thread) || is_first)
        layout_changed_ = true;
    else if (!layout_changed_)
        node.at = layout_.locate(op);
    nodes_.push_back(node);
    return known->second;
}

void Program::settle() {
    alike_.settle();
    layout_.settle();
    for (Node &node : nodes_) {
        node.last_next = Node::kNone;
        if (node.op.is_plain() || node.op.is_atomic())
            node.at = layout_.locate(node.op);
    }
    layout_changed_ = false;
}

} // namespace prove
